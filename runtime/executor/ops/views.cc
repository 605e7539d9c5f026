// Ops that only change the shape. A view is no step: it reads the memory of its input.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// Whether the op changes the dims of each row alone, however many there are.
bool KeepsRows(const OpPlanner& op, const Dims& dims) {
  const Dims& x = op.InputDims("X");
  const bool is_reshape = op.type() == "reshape" || op.type() == "reshape2";
  if (!is_reshape || x.empty() || dims.empty() || x[0] != dims[0] || x[0] == 0) return false;
  const std::vector<int64_t> shape = op.attributes().Ints("shape");
  return !shape.empty() && (shape[0] == -1 || shape[0] == 0);
}

absl::Status PlanView(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  if (type.size() != op.InputType("X").size()) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(op.InputDims("X")),
                                                   " and Out ", DimsText(type.dims),
                                                   "; want as many elements"));
  }
  RETURN_IF_ERROR(op.builder().View(op.OutputValue("Out"), op.InputValue("X"), type.dims));
  if (KeepsRows(op, type.dims)) op.KeepRows("X", "Out");
  return absl::OkStatus();
}

// XShape has no elements: its dimensions are what the gradient op reads.
absl::Status PlanViewWithShape(OpPlanner& op) {
  if (op.Wants("XShape")) RETURN_IF_ERROR(op.Write("XShape").status());
  return PlanView(op);
}

// The gradient has the shape of X, or of XShape after its leading 0.
absl::Status PlanGradient(OpPlanner& op, absl::string_view shape_slot) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("X@GRAD"));
  if (type.size() != op.InputType("Out@GRAD").size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Out@GRAD is ", DimsText(op.InputDims("Out@GRAD")), " and ", shape_slot,
                     " says ", DimsText(type.dims), "; want as many elements"));
  }
  return op.builder().View(op.OutputValue("X@GRAD"), op.InputValue("Out@GRAD"), type.dims);
}

absl::Status PlanAssign(OpPlanner& op) {
  if (!op.HasInput("X")) return absl::UnimplementedError("input X is absent; want a tensor");
  op.TakeAnyRunShape("X");
  if (!op.Wants("Out")) return absl::OkStatus();
  return op.builder().Share(op.OutputValue("Out"), op.InputValue("X"));
}

absl::Status PlanAssignGradient(OpPlanner& op) {
  op.TakeAnyRunShape("Out@GRAD");
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  return op.builder().Share(op.OutputValue("X@GRAD"), op.InputValue("Out@GRAD"));
}

}  // namespace

OpPlans ViewPlans() {
  OpPlans plans = {{"assign", PlanAssign, AlwaysRoundsOnce},
                   {"rnn_memory_helper", PlanAssign, AlwaysRoundsOnce},
                   {"rnn_memory_helper_grad", PlanAssignGradient}};
  for (const char* type : {"reshape", "flatten", "squeeze", "unsqueeze"}) {
    plans.push_back({type, PlanView, AlwaysRoundsOnce});
    plans.push_back(
        {absl::StrCat(type, "_grad"), [](OpPlanner& op) { return PlanGradient(op, "X"); }});
  }
  for (const char* type :
       {"reshape2", "flatten2", "squeeze2", "unsqueeze2", "flatten_contiguous_range"}) {
    plans.push_back({type, PlanViewWithShape, AlwaysRoundsOnce});
    plans.push_back(
        {absl::StrCat(type, "_grad"), [](OpPlanner& op) { return PlanGradient(op, "XShape"); }});
  }
  return plans;
}

}  // namespace fixpoint::executor
