// Functions of one tensor, element by element, in whatever layout it is held.

#include "runtime/kernels/activation.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/passed_elements.h"

namespace fixpoint::executor {
namespace {

// The functions whose gradients are known.
constexpr const char* kDifferentiated[] = {
    "relu", "relu6", "leaky_relu", "sigmoid", "tanh", "hard_sigmoid", "hard_swish", "swish",
    "silu", "gelu",  "abs",        "exp",     "log",  "sqrt",         "square",     "erf"};

absl::Status PlanActivation(OpPlanner& op) {
  if (op.type() == "pow") RETURN_IF_ERROR(op.CheckAbsent("FactorTensor"));
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.KeepRunShape("X", "Out");
  AddElementStep(
      op, {x}, y,
      [activation = ActivationOf(op.type(), op.attributes())](const kernels::ElementBlock& block) {
        kernels::Activate(activation, block.In<float>(0), block.Out<float>());
      });
  return absl::OkStatus();
}

absl::Status PlanPassedGradient(OpPlanner& op, Buffer passed, Layout layout) {
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("Out@GRAD"), layout, dy);
  AddElementStep(op, {passed, dy}, dx, [](const kernels::ElementBlock& block) {
    kernels::PassBackward(block.In<uint8_t>(0), block.In<float>(1), block.Out<float>());
  });
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op, const char* type) {
  const Activation activation = ActivationOf(type, op.attributes());
  const auto source = kernels::GradientSourceOf(activation.function);
  const char* slot = source == kernels::GradientSource::kInput ? "X" : "Out";
  // Both have one sign where alpha is positive.
  if (op.type() == "leaky_relu_grad" && !op.HasInput("X")) slot = "Out";
  const Layout layout = op.InputLayout("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims(slot)));
  if (op.type() == "relu_grad") {
    if (const auto passed = FindPassedElements(op, slot, layout)) {
      return PlanPassedGradient(op, *passed, layout);
    }
  }
  ASSIGN_OR_RETURN(const Buffer read, op.ReadFloats(slot, layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("Out@GRAD"), layout, dy);
  AddElementStep(op, {read, dy}, dx, [activation](const kernels::ElementBlock& block) {
    kernels::ActivateBackward(activation, block.In<float>(0), block.In<float>(1),
                              block.Out<float>());
  });
  return absl::OkStatus();
}

bool RoundsAtMostOnce(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::kRelu:
    case ActivationFunction::kReluKeepingNan:
    case ActivationFunction::kLeakyRelu:
    case ActivationFunction::kThresholdedRelu:
    case ActivationFunction::kClip:
    case ActivationFunction::kAbs:
    case ActivationFunction::kSqrt:
    case ActivationFunction::kSquare:
    case ActivationFunction::kReciprocal:
    case ActivationFunction::kCeil:
    case ActivationFunction::kFloor:
    case ActivationFunction::kRound:
    case ActivationFunction::kSign:
      return true;
    default:
      return false;
  }
}

}  // namespace

OpPlans ActivationPlans() {
  OpPlans plans;
  for (const std::string& type : ActivationTypes()) {
    plans.push_back({type, PlanActivation, [type](const OpAttributes& attributes) {
                       return RoundsAtMostOnce(ActivationOf(type, attributes).function);
                     }});
  }
  for (const char* type : kDifferentiated) {
    plans.push_back(
        {absl::StrCat(type, "_grad"), [type](OpPlanner& op) { return PlanGradient(op, type); }});
  }
  return plans;
}

}  // namespace fixpoint::executor
