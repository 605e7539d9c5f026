// What a schedule of training switches on at a step. The plan is of one phase of it.

#include <algorithm>

#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// Zeros of the type of what is there.
void AddZeros(OpPlanner& op, absl::string_view slot, const TensorType& type) {
  const Buffer out = op.WriteAs(slot, type);
  op.AddStep({{}, {out}, [out](const StepContext& run) {
                const absl::Span<float> values = run.Floats(out);
                std::fill(values.begin(), values.end(), 0.0f);
                return absl::OkStatus();
              }});
}

absl::Status PlanSelect(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  const char* chosen = op.HasBegun() ? "X" : "Before";
  const char* other = op.HasBegun() ? "Before" : "X";
  if (op.HasInput(chosen)) return op.builder().Share(op.OutputValue("Out"), op.InputValue(chosen));
  AddZeros(op, "Out", op.InputType(other));
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  const char* chosen = op.HasBegun() ? "X@GRAD" : "Before@GRAD";
  const char* other = op.HasBegun() ? "Before@GRAD" : "X@GRAD";
  if (op.Wants(chosen)) {
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue(chosen), op.InputValue("Out@GRAD")));
  }
  if (op.Wants(other)) AddZeros(op, other, op.InputType("Out@GRAD"));
  return absl::OkStatus();
}

}  // namespace

OpPlans SchedulePlans() {
  return {{"select_from_step", PlanSelect}, {"select_from_step_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
