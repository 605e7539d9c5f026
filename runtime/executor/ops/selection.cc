// Ops that choose by a number: which tensor is read, or which one is written.

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/unset_values.h"

namespace fixpoint::executor {
namespace {

// One of the tensors among which Mask chooses.
struct Choice {
  const Value* value;
  std::optional<Buffer> buffer;  // nothing: never set
  std::optional<Buffer> is_set;  // nothing: always, if there is a buffer
};

absl::StatusOr<Buffer> ReadMask(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Mask", 1));
  return op.Read("Mask", VarType::INT32);
}

absl::StatusOr<int> Chosen(const StepContext& run, Buffer mask, int count) {
  const int32_t chosen = run.Of<int32_t>(mask)[0];
  if (chosen >= 0 && chosen < count) return chosen;
  return absl::InvalidArgumentError(
      absl::StrCat("Mask is ", chosen, "; want the place of one of ", count, " tensors"));
}

// The alternatives of a slot; `type` and `lod` are those that all have.
absl::StatusOr<std::vector<Choice>> ReadChoices(OpPlanner& op, const Value** first) {
  PlanBuilder& builder = op.builder();
  std::vector<Choice> choices;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    const Value& value = op.InputValue("X", i);
    choices.push_back({&value, std::nullopt, std::nullopt});
    if (!builder.IsPlanned(value)) continue;
    if (*first == nullptr) *first = &value;
    const bool is_alike = builder.TypeOf(value) == builder.TypeOf(**first) &&
                          builder.LodOf(value) == builder.LodOf(**first);
    if (!is_alike) {
      return absl::UnimplementedError(absl::StrCat(
          "X[", i, "] is ", DimsText(builder.TypeOf(value).dims), " and another is ",
          DimsText(builder.TypeOf(**first).dims), "; want equal types, dimensions and offsets"));
    }
    ASSIGN_OR_RETURN(choices.back().buffer, builder.Read(value, Layout::kRowMajor));
    const IsSet* const is_set = builder.Attached<IsSet>(value);
    if (is_set != nullptr) choices.back().is_set = is_set->flag;
  }
  return choices;
}

absl::Status PlanSelectInput(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer mask, ReadMask(op));
  const Value* first = nullptr;
  ASSIGN_OR_RETURN(const std::vector<Choice> choices, ReadChoices(op, &first));
  if (choices.empty()) return absl::InvalidArgumentError("X has no tensors; want some");
  if (first == nullptr) return NoValue(*choices[0].value);
  const Buffer out = op.WriteAs("Out", op.builder().TypeOf(*first));
  op.CutOutput("Out", op.builder().LodOf(*first));
  std::vector<Buffer> reads = {mask};
  for (const Choice& choice : choices) {
    if (choice.buffer) reads.push_back(*choice.buffer);
    if (choice.is_set) reads.push_back(*choice.is_set);
  }
  const int64_t bytes = op.builder().info(out).bytes();
  op.AddStep(
      {std::move(reads), {out}, [=](const StepContext& run) -> absl::Status {
         ASSIGN_OR_RETURN(const int chosen, Chosen(run, mask, static_cast<int>(choices.size())));
         const Choice& choice = choices[chosen];
         const bool is_set = choice.buffer && (!choice.is_set || run.Of<bool>(*choice.is_set)[0]);
         if (!is_set) return NoValue(*choice.value);
         if (bytes == 0) return absl::OkStatus();
         std::memcpy(run.Of<uint8_t>(out).data(), run.Of<uint8_t>(*choice.buffer).data(), bytes);
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// All outputs have X's elements; flags say which of them is set.
absl::Status PlanSelectOutput(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer mask, ReadMask(op));
  PlanBuilder& builder = op.builder();
  const int count = op.OutputCount("Out");
  std::vector<std::optional<Buffer>> flags(count);
  std::vector<Buffer> written;
  for (int i = 0; i < count; ++i) {
    if (!op.Wants("Out", i)) continue;
    RETURN_IF_ERROR(builder.Share(op.OutputValue("Out", i), op.InputValue("X")));
    flags[i] = op.Scratch(absl::StrCat("Out[", i, "] is set"), VarType::BOOL, 1);
    builder.Attach(op.OutputValue("Out", i), IsSet{*flags[i]});
    written.push_back(*flags[i]);
  }
  op.AddStep({{mask}, std::move(written), [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const int chosen, Chosen(run, mask, count));
                for (int i = 0; i < count; ++i) {
                  if (flags[i]) run.Of<bool>(*flags[i])[0] = i == chosen;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SelectionPlans() {
  return {{"select_input", PlanSelectInput}, {"select_output", PlanSelectOutput}};
}

}  // namespace fixpoint::executor
