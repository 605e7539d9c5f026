#include "runtime/executor/schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/computed_once.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/kernels/cast.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// The step from which on the op changes; nothing for most ops.
std::optional<int64_t> FirstStep(const Op& op) {
  const bool selects = absl::StartsWith(op.type(), "select_from_step");  // or its gradient
  const OpDesc::Attr* attr = op.FindAttr(selects ? "from_step" : kTestFromStepAttr);
  return attr != nullptr ? IntValue(*attr) : std::nullopt;
}

// The value that a run begins with; null if there is no tensor.
const Tensor* FindTensor(const std::string& name, absl::Span<const Feed> feeds,
                         const Scope& scope) {
  const auto feed =
      std::find_if(feeds.begin(), feeds.end(), [&](const Feed& feed) { return feed.name == name; });
  if (feed != feeds.end()) return feed->value;
  const absl::StatusOr<const Tensor*> held = scope.Find(name);
  return held.ok() ? *held : nullptr;
}

}  // namespace

absl::StatusOr<Schedule> Schedule::Of(const Program& program) {
  Schedule schedule;
  for (const Op& op : program.ops()) {
    if (const auto first_step = FirstStep(op); first_step) {
      RETURN_IF_ERROR(schedule.Add(op, *first_step, EraOf(program)));
    }
  }
  return schedule;
}

absl::Status Schedule::Add(const Op& op, int64_t first_step, Era era) {
  Entry entry{&op, "", 0, first_step};
  const Argument* step = op.Input(kStepSlot);
  const Value* value = step != nullptr ? step->value() : nullptr;
  if (value != nullptr && value->written_by() != nullptr &&
      value->written_by()->op().type() == "increment") {
    const Op& increment = value->written_by()->op();
    const std::optional<OpAttributes> attributes = OpAttributes::Of(increment.desc(), era);
    if (!attributes) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(increment), ": attribute step is no number; want FLOAT"));
    }
    const double by = attributes->Float("step");
    entry.increment = static_cast<double>(kernels::Converted<int64_t>(by));
    value = increment.Input("X") != nullptr ? increment.Input("X")->value() : nullptr;
  }
  if (value == nullptr || value->origin() != Value::Origin::kEntry) {
    return absl::UnimplementedError(absl::StrCat(
        Describe(op), ": input ", kStepSlot,
        " is no counter; want one that a run begins with, or what an increment makes of it"));
  }
  entry.counter = value->variable().name();
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> Schedule::PhaseOf(absl::Span<const Feed> feeds,
                                                    const Scope& scope) const {
  std::vector<bool> phase;
  for (const Entry& entry : entries_) {
    const Tensor* counter = FindTensor(entry.counter, feeds, scope);
    if (counter == nullptr || counter->dtype() != VarType::INT64 || counter->size() != 1) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(*entry.op), ": the step counter \"", entry.counter,
                       "\" has no value; want an INT64 [1], initialised by the startup program"));
    }
    // Computed as the increment op computes it.
    const double step = static_cast<double>(counter->data<int64_t>()[0]) + entry.increment;
    phase.push_back(kernels::Converted<int64_t>(step) >= entry.first_step);
  }
  return phase;
}

absl::flat_hash_set<const Op*> Schedule::BegunIn(const std::vector<bool>& phase) const {
  absl::flat_hash_set<const Op*> begun;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (phase[i]) begun.insert(entries_[i].op);
  }
  return begun;
}

const Argument* UnreadInput(const Op& op, const absl::flat_hash_set<const Op*>& begun) {
  if (op.type() != "select_from_step") return nullptr;
  // The interpreter computes such an op, and reads all inputs.
  if (BoolAttr(op.desc(), kComputedOnceAttr).value_or(false)) return nullptr;
  const Argument* const x = op.Input("X");
  const Argument* const before = op.Input("Before");
  if (x == nullptr || before == nullptr || x->value() == before->value()) return nullptr;
  const Argument* const unread = begun.contains(&op) ? before : x;
  const Argument* const other = unread == x ? before : x;
  return other->value() != nullptr ? unread : nullptr;
}

}  // namespace fixpoint::executor
