#include "transpiler/train/site_ops.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/forward_ops.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/op_templates.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/step_counter.h"

namespace fixpoint {
namespace {

// The op of `block` in which `op` runs: itself, or the one that runs the block that it is in; null
// if `op` is in a block that no op runs.
const Op* AncestorIn(const Block& block, const Op& op) {
  const Op* at = &op;
  while (at != nullptr && &at->block() != &block) at = at->block().owner();
  return at;
}

}  // namespace

SitePlace SiteOps::PlaceOf(const Site& site) const {
  const Value& value = *site.value;
  SitePlace place{&value.block(), nullptr, nullptr, kForward};
  const Op* first_reader = site.readers.empty() ? value.op() : &site.readers.front()->op();
  if (site.is_of_gradient()) {
    place.role = site.gradient_readers.front()->op().role();
  } else if (context_.target.conventions().copy_op_role() && first_reader != nullptr) {
    place.role = first_reader->role();
  }
  switch (value.origin()) {
    case Value::Origin::kWrite:
    case Value::Origin::kExit:
      place.after = value.op();
      break;
    case Value::Origin::kLoopHead:
      break;
    case Value::Origin::kEntry:
      // Before the first reader, outside the loops that it is in.
      for (const Argument* reader : site.readers) {
        const Op* op = AncestorIn(value.block(), reader->op());
        if (op == nullptr) continue;
        if (place.before == nullptr || op->IsBefore(*place.before)) place.before = op;
      }
      break;
  }
  return place;
}

absl::StatusOr<std::string> SiteOps::DeclareScale(const Block& block, const std::string& base,
                                                  int64_t count) {
  ASSIGN_OR_RETURN(const Variable* scale,
                   rewriter_.AddTensor(block, rewriter_.FreshName(base), VarType::FP32, {count}));
  return scale->name();
}

absl::StatusOr<std::string> SiteOps::DeclareLike(const SiteWriting& writing, const Variable& like,
                                                 absl::string_view suffix) {
  ASSIGN_OR_RETURN(const Variable* variable,
                   rewriter_.AddVariable(*writing.place.block,
                                         rewriter_.FreshName(absl::StrCat(
                                             writing.site->value->variable().name(), suffix)),
                                         like.desc()->type()));
  return variable->name();
}

absl::StatusOr<std::string> SiteOps::StepCounter() {
  if (step_counter_.empty()) {
    ASSIGN_OR_RETURN(step_counter_, AddStepCounter(program_, pass_, &state_, &rewriter_));
  }
  return step_counter_;
}

absl::StatusOr<OpBuilder> SiteOps::SelectFrom(int64_t step, const std::string& out) {
  ASSIGN_OR_RETURN(const std::string counter, StepCounter());
  OpBuilder select = rewriter_.New(kSelectFromStep);
  select.Input("Step", counter).Output("Out", out).Attr(MakeLongAttr("from_step", step));
  return select;
}

void SiteOps::Insert(SiteWriting& writing, OpBuilder& op) {
  SitePlace& place = writing.place;
  op.IntAttr("op_role", place.role).StringAttr(kInsertedByAttr, pass_);
  if (place.before != nullptr) {
    rewriter_.InsertBefore(*place.before, op);
    return;
  }
  const Op*& last = place.after == nullptr ? last_at_head_[place.block] : last_after_[place.after];
  if (last != nullptr) {
    last = &rewriter_.InsertAfter(*last, op);
  } else if (place.after != nullptr) {
    last = &rewriter_.InsertAfter(*place.after, op);
  } else {
    last = &rewriter_.Prepend(*place.block, op);
  }
}

absl::Status SiteOps::InsertAll(SiteWriting& writing, std::vector<OpDesc> ops, int role,
                                absl::flat_hash_map<std::string, std::string>* names) {
  const Site& site = *writing.site;
  const std::string& value = site.value->variable().name();
  OpTemplates templates(program_, &rewriter_, *writing.place.block, EraOf(context_.target), value);
  templates.Bind(Quantizer::kValue, value);
  for (const auto& [name, variable] : *names) templates.Bind(name, variable);
  SiteWriting with_role = writing;
  with_role.place.role = role;
  for (OpDesc& op : ops) {
    const OpDesc written = op;
    ASSIGN_OR_RETURN(OpBuilder filled, templates.Fill(std::move(op)));
    for (int slot = 0; slot < written.outputs_size(); ++slot) {
      for (int i = 0; i < written.outputs(slot).arguments_size(); ++i) {
        (*names)[written.outputs(slot).arguments(i)] = filled.op().outputs(slot).arguments(i);
      }
    }
    Insert(with_role, filled);
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
