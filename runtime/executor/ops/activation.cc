// Functions of one tensor, element by element, in whatever layout it is held.

#include "runtime/kernels/activation.h"

#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

using kernels::Activation;
using kernels::ActivationFunction;

// From an op's attributes to the function.
using ActivationOf = std::function<Activation(const OpPlanner& op)>;

struct Row {
  const char* type;
  ActivationOf activation;
  bool has_gradient = false;
};

ActivationOf Of(ActivationFunction function) {
  return [=](const OpPlanner&) { return Activation{function}; };
}
ActivationOf Of(ActivationFunction function, const char* a) {
  return [=](const OpPlanner& op) { return Activation{function, op.Number(a)}; };
}
ActivationOf Of(ActivationFunction function, const char* a, const char* b) {
  return [=](const OpPlanner& op) { return Activation{function, op.Number(a), op.Number(b)}; };
}

const Row kRows[] = {
    // The reference's relu lets a NaN pass before 2.0, and makes it 0 since.
    {"relu",
     [](const OpPlanner& op) {
       return Activation{op.era() == Era::kFluid ? ActivationFunction::kReluKeepingNan
                                                 : ActivationFunction::kRelu};
     },
     true},
    {"relu6",
     [](const OpPlanner& op) {
       return Activation{ActivationFunction::kClip, 0, op.Number("threshold")};
     },
     true},
    {"leaky_relu", Of(ActivationFunction::kLeakyRelu, "alpha"), true},
    {"elu", Of(ActivationFunction::kElu, "alpha")},
    {"selu", Of(ActivationFunction::kSelu, "alpha", "scale")},
    {"brelu", Of(ActivationFunction::kClip, "t_min", "t_max")},
    {"thresholded_relu", Of(ActivationFunction::kThresholdedRelu, "threshold")},
    {"sigmoid", Of(ActivationFunction::kSigmoid), true},
    {"tanh", Of(ActivationFunction::kTanh), true},
    {"hard_sigmoid", Of(ActivationFunction::kHardSigmoid, "slope", "offset"), true},
    {"hard_swish",
     [](const OpPlanner& op) {
       return Activation{ActivationFunction::kHardSwish, op.Number("threshold"), op.Number("scale"),
                         op.Number("offset")};
     },
     true},
    {"swish", Of(ActivationFunction::kSwish, "beta"), true},
    {"silu",
     [](const OpPlanner&) {
       return Activation{ActivationFunction::kSwish, 1};
     },
     true},
    {"gelu",
     [](const OpPlanner& op) {
       return Activation{op.attributes().Bool("approximate") ? ActivationFunction::kGeluByTanh
                                                             : ActivationFunction::kGelu};
     },
     true},
    {"softplus", Of(ActivationFunction::kSoftplus, "beta", "threshold")},
    {"softsign", Of(ActivationFunction::kSoftsign)},
    {"logsigmoid", Of(ActivationFunction::kLogSigmoid)},
    {"soft_relu", Of(ActivationFunction::kSoftRelu, "threshold")},
    {"mish", Of(ActivationFunction::kMish, "threshold")},
    {"abs", Of(ActivationFunction::kAbs), true},
    {"exp", Of(ActivationFunction::kExp), true},
    {"log", Of(ActivationFunction::kLog), true},
    {"sqrt", Of(ActivationFunction::kSqrt), true},
    {"square", Of(ActivationFunction::kSquare), true},
    {"rsqrt", Of(ActivationFunction::kRsqrt)},
    {"reciprocal", Of(ActivationFunction::kReciprocal)},
    {"sin", Of(ActivationFunction::kSin)},
    {"cos", Of(ActivationFunction::kCos)},
    {"ceil", Of(ActivationFunction::kCeil)},
    {"floor", Of(ActivationFunction::kFloor)},
    {"round", Of(ActivationFunction::kRound)},
    {"sign", Of(ActivationFunction::kSign)},
};

absl::Status PlanActivation(OpPlanner& op, const ActivationOf& activation_of) {
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep({{x}, {y}, [x, y, activation = activation_of(op)](const StepContext& run) {
                kernels::Activate(activation, run.Floats(x), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanPower(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("FactorTensor"));
  return PlanActivation(op, Of(ActivationFunction::kPow, "factor"));
}

absl::Status PlanGradient(OpPlanner& op, const ActivationOf& activation_of) {
  const Activation activation = activation_of(op);
  const auto source = kernels::GradientSourceOf(activation.function);
  const char* slot = source == kernels::GradientSource::kInput ? "X" : "Out";
  // Both have one sign where alpha is positive.
  if (op.op().type() == "leaky_relu_grad" && !op.HasInput("X")) slot = "Out";
  const Layout layout = op.InputLayout("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims(slot)));
  ASSIGN_OR_RETURN(const Buffer read, op.ReadFloats(slot, layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("Out@GRAD"), layout, dy);
  op.AddStep({{read, dy}, {dx}, [=](const StepContext& run) {
                kernels::ActivateBackward(activation, run.Floats(read), run.Floats(dy),
                                          run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ActivationPlans() {
  OpPlans plans = {{"pow", PlanPower}};
  for (const Row& row : kRows) {
    plans.push_back(
        {row.type, [&row](OpPlanner& op) { return PlanActivation(op, row.activation); }});
    const std::string gradient = absl::StrCat(row.type, "_grad");
    if (!row.has_gradient) continue;
    plans.push_back({gradient, [&row](OpPlanner& op) { return PlanGradient(op, row.activation); }});
  }
  return plans;
}

}  // namespace fixpoint::executor
