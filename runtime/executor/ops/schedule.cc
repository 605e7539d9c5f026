// What a training schedule switches on at a step. The plan is for one phase of it.

#include <algorithm>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/quantized_bias.h"

namespace fixpoint::executor {
namespace {

// Adds the step that fills an output with zeros.
absl::Status AddZeros(OpPlanner& op, absl::string_view slot, const TensorType& type) {
  const Buffer out = op.WriteAs(slot, type);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [out](const StepContext& run) {
                  const absl::Span<T> values = run.Of<T>(out);
                  std::fill(values.begin(), values.end(), T());
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanSelect(OpPlanner& op) {
  if (!op.HasInput("X") && !op.HasInput("Before")) {
    return absl::InvalidArgumentError("inputs X and Before are absent; want one of them, or both");
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  const char* chosen = op.HasBegun() ? "X" : "Before";
  const char* other = op.HasBegun() ? "Before" : "X";
  if (op.HasInput(chosen)) {
    const Value& value = op.InputValue(chosen);
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue("Out"), value));
    op.CutOutput("Out", op.builder().LodOf(value));
    if (const BiasCodes* const bias = FindBiasCodes(op.builder(), value); bias != nullptr) {
      op.builder().Attach(op.OutputValue("Out"), *bias);
    }
    return absl::OkStatus();
  }
  return AddZeros(op, "Out", op.InputType(other));
}

absl::Status PlanGradient(OpPlanner& op) {
  const char* chosen = op.HasBegun() ? "X@GRAD" : "Before@GRAD";
  const char* other = op.HasBegun() ? "Before@GRAD" : "X@GRAD";
  if (op.Wants(chosen)) {
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue(chosen), op.InputValue("Out@GRAD")));
  }
  if (!op.Wants(other)) return absl::OkStatus();
  return AddZeros(op, other, op.InputType("Out@GRAD"));
}

}  // namespace

OpPlans SchedulePlans() {
  return {{"select_from_step", PlanSelect}, {"select_from_step_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
