// Optimizers. Each reads a parameter, its gradient and its own state, and writes them anew.

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/selected_rows.h"

namespace fixpoint::reference {
namespace {

// A parameter in the middle of its update.
struct Update {
  Array param;
  Array grad;
  double learning_rate;
};

absl::StatusOr<Update> Begin(const OpRun& op) {
  if (op.Bool("multi_precision")) {
    return absl::UnimplementedError("multi_precision is true; want parameters of one precision");
  }
  RETURN_IF_ERROR(op.CheckSize("LearningRate", 1));
  RETURN_IF_ERROR(op.CheckDims("Grad", op.Input("Param").dims));
  return Update{op.Input("Param"), op.Input("Grad"), op.Input("LearningRate")[0]};
}

// A state of one value per element of the parameter.
absl::StatusOr<Array> State(const OpRun& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckSize(slot, op.Input("Param").size()));
  return op.Input(slot);
}

// The elements of the parameter that an op of the adam family updates: in lazy_mode those of the
// selected rows of a gradient, else all.
std::vector<int64_t> Updated(const OpRun& op, const Array& grad) {
  std::vector<int64_t> elements;
  if (grad.rows == nullptr || !op.Bool("lazy_mode")) {
    elements.resize(grad.size());
    std::iota(elements.begin(), elements.end(), 0);
    return elements;
  }
  const int64_t width = grad.dims[1];
  for (const int64_t row : Merged(*grad.rows).ids) {
    for (int64_t j = 0; j < width; ++j) elements.push_back(row * width + j);
  }
  return elements;
}

double Norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

absl::Status Sgd(OpRun& op) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  for (int64_t i = 0; i < u.param.size(); ++i) u.param[i] -= u.learning_rate * u.grad[i];
  op.SetOutput("ParamOut", std::move(u.param));
  return absl::OkStatus();
}

absl::Status Momentum(OpRun& op) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  ASSIGN_OR_RETURN(Array velocity, State(op, "Velocity"));
  const std::string regularization = op.String("regularization_method");
  if (!regularization.empty() && regularization != "l2_decay") {
    return absl::InvalidArgumentError(absl::StrCat("regularization_method is \"", regularization,
                                                   "\"; want \"\" or \"l2_decay\""));
  }
  const double decay = regularization.empty() ? 0 : op.Float("regularization_coeff");
  const double mu = op.Float("mu");
  const bool nesterov = op.Bool("use_nesterov");
  for (int64_t i = 0; i < u.param.size(); ++i) {
    const double g = u.grad[i] * op.Float("rescale_grad") + decay * u.param[i];
    velocity[i] = mu * velocity[i] + g;
    u.param[i] -= u.learning_rate * (nesterov ? g + mu * velocity[i] : velocity[i]);
  }
  op.SetOutput("ParamOut", std::move(u.param));
  op.SetOutput("VelocityOut", std::move(velocity));
  return absl::OkStatus();
}

// The moments of the adam family, updated by this step, and the matching powers of beta1 and beta2.
struct Moments {
  Array first;
  Array second;
  double beta1;
  double beta2;
  double beta1_power;
  double beta2_power;
};

absl::StatusOr<double> Hyperparameter(const OpRun& op, absl::string_view tensor,
                                      absl::string_view attr) {
  if (!op.HasInputSlot(tensor) || op.FindInput(tensor) == nullptr) return op.Float(attr);
  RETURN_IF_ERROR(op.CheckSize(tensor, 1));
  return (*op.FindInput(tensor))[0];
}

absl::StatusOr<Moments> NextMoments(const OpRun& op, const Array& grad,
                                    const std::vector<int64_t>& updated) {
  if (op.HasInputSlot("SkipUpdate") && op.FindInput("SkipUpdate") != nullptr) {
    return absl::UnimplementedError("input SkipUpdate; want none");
  }
  Moments m;
  ASSIGN_OR_RETURN(m.first, State(op, "Moment1"));
  ASSIGN_OR_RETURN(m.second, State(op, "Moment2"));
  ASSIGN_OR_RETURN(m.beta1, Hyperparameter(op, "Beta1Tensor", "beta1"));
  ASSIGN_OR_RETURN(m.beta2, Hyperparameter(op, "Beta2Tensor", "beta2"));
  RETURN_IF_ERROR(op.CheckSize("Beta1Pow", 1));
  RETURN_IF_ERROR(op.CheckSize("Beta2Pow", 1));
  m.beta1_power = op.Input("Beta1Pow")[0];
  m.beta2_power = op.Input("Beta2Pow")[0];
  for (const int64_t i : updated) {
    m.first[i] = m.beta1 * m.first[i] + (1 - m.beta1) * grad[i];
    m.second[i] = m.beta2 * m.second[i] + (1 - m.beta2) * grad[i] * grad[i];
  }
  return m;
}

void SetMoments(OpRun& op, Moments m) {
  op.SetOutput("Moment1Out", std::move(m.first));
  op.SetOutput("Moment2Out", std::move(m.second));
}

// Writes the powers multiplied once more.
void SetPowers(OpRun& op, const Moments& m) {
  Array beta1_power = op.Input("Beta1Pow");
  Array beta2_power = op.Input("Beta2Pow");
  beta1_power[0] *= m.beta1;
  beta2_power[0] *= m.beta2;
  op.SetOutput("Beta1PowOut", std::move(beta1_power));
  op.SetOutput("Beta2PowOut", std::move(beta2_power));
}

// Whether the reference multiplies the powers before it uses them: where the gradient is selected
// rows, and the powers are updated in place.
bool UsesNextPowers(const OpRun& op, const Array& grad) {
  const Argument* before = op.op().Input("Beta1Pow");
  const Argument* after = op.op().Output("Beta1PowOut");
  return grad.rows != nullptr && !op.Bool("use_global_beta_pow") && before != nullptr &&
         after != nullptr && before->name() == after->name();
}

// adam, and adamw, which decays the parameter first. 2.x adds epsilon to a second moment that is
// corrected for its start, 1.x to one that is not. Powers that all parameters share
// (use_global_beta_pow) are multiplied by other ops.
absl::Status AdamStep(OpRun& op, double decay) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  const std::vector<int64_t> updated = Updated(op, u.grad);
  ASSIGN_OR_RETURN(Moments m, NextMoments(op, u.grad, updated));
  if (UsesNextPowers(op, u.grad)) {
    m.beta1_power *= m.beta1;
    m.beta2_power *= m.beta2;
  }
  ASSIGN_OR_RETURN(double epsilon, Hyperparameter(op, "EpsilonTensor", "epsilon"));
  if (op.era() == Era::kPaddle2) epsilon *= std::sqrt(1 - m.beta2_power);
  const double rate = u.learning_rate * std::sqrt(1 - m.beta2_power) / (1 - m.beta1_power);
  // Of all rows in lazy_mode too, as the reference decays.
  for (double& element : u.param.values) element -= u.learning_rate * decay * element;
  for (const int64_t i : updated) {
    u.param[i] -= rate * m.first[i] / (std::sqrt(m.second[i]) + epsilon);
  }
  op.SetOutput("ParamOut", std::move(u.param));
  if (!op.Bool("use_global_beta_pow")) SetPowers(op, m);
  SetMoments(op, std::move(m));
  return absl::OkStatus();
}

absl::Status Adam(OpRun& op) { return AdamStep(op, 0); }

absl::Status AdamW(OpRun& op) {
  if (op.Float("lr_ratio") != 1) {
    return absl::UnimplementedError(
        absl::StrCat("lr_ratio is ", op.Float("lr_ratio"), "; want 1, one rate for all layers"));
  }
  return AdamStep(op, op.Bool("with_decay") ? op.Float("coeff") : 0);
}

// Whether the step is as long as the parameter. Since 2.6, which has the attribute always_adapt, it
// is not where weight_decay is 0 and the attribute is false.
bool Adapts(const OpRun& op) {
  return !op.attributes().IsGiven("always_adapt") || op.Bool("always_adapt") ||
         op.Float("weight_decay") > 0;
}

// 2.x corrects the moments for their start, 1.x does not.
absl::Status Lamb(OpRun& op) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  std::vector<int64_t> all(u.grad.size());
  std::iota(all.begin(), all.end(), 0);
  ASSIGN_OR_RETURN(Moments m, NextMoments(op, u.grad, all));
  const double first = op.era() == Era::kPaddle2 ? 1 - m.beta1_power : 1;
  const double second = op.era() == Era::kPaddle2 ? 1 - m.beta2_power : 1;
  std::vector<double> direction(u.param.size());
  for (int64_t i = 0; i < u.param.size(); ++i) {
    direction[i] = m.first[i] / first / (std::sqrt(m.second[i] / second) + op.Float("epsilon")) +
                   op.Float("weight_decay") * u.param[i];
  }
  const double param_norm = Norm(u.param.values);
  const double direction_norm = Norm(direction);
  const bool has_ratio = Adapts(op) && param_norm > 0 && direction_norm > 0;
  const double ratio = has_ratio ? param_norm / direction_norm : 1;
  for (int64_t i = 0; i < u.param.size(); ++i) {
    u.param[i] -= u.learning_rate * ratio * direction[i];
  }
  op.SetOutput("ParamOut", std::move(u.param));
  SetPowers(op, m);
  SetMoments(op, std::move(m));
  return absl::OkStatus();
}

absl::Status Adagrad(OpRun& op) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  ASSIGN_OR_RETURN(Array moment, State(op, "Moment"));
  for (int64_t i = 0; i < u.param.size(); ++i) {
    moment[i] += u.grad[i] * u.grad[i];
    u.param[i] -= u.learning_rate * u.grad[i] / (std::sqrt(moment[i]) + op.Float("epsilon"));
  }
  op.SetOutput("ParamOut", std::move(u.param));
  op.SetOutput("MomentOut", std::move(moment));
  return absl::OkStatus();
}

// MeanGrad is followed only where centered.
absl::Status RmsProp(OpRun& op) {
  ASSIGN_OR_RETURN(Update u, Begin(op));
  ASSIGN_OR_RETURN(Array mean_square, State(op, "MeanSquare"));
  ASSIGN_OR_RETURN(Array moment, State(op, "Moment"));
  const bool centered = op.Bool("centered");
  Array mean_grad(u.param.dtype, u.param.dims);
  if (const Array* given = op.FindInput("MeanGrad"); given != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("MeanGrad", u.param.size()));
    mean_grad = *given;
  } else if (centered) {
    return absl::InvalidArgumentError("input MeanGrad is absent and centered is true; want it");
  }
  const double decay = op.Float("decay");
  for (int64_t i = 0; i < u.param.size(); ++i) {
    mean_square[i] = decay * mean_square[i] + (1 - decay) * u.grad[i] * u.grad[i];
    if (centered) mean_grad[i] = decay * mean_grad[i] + (1 - decay) * u.grad[i];
    const double mean = centered ? mean_grad[i] : 0;
    const double variance = mean_square[i] - mean * mean;
    moment[i] = op.Float("momentum") * moment[i] +
                u.learning_rate * u.grad[i] / std::sqrt(variance + op.Float("epsilon"));
    u.param[i] -= moment[i];
  }
  op.SetOutput("ParamOut", std::move(u.param));
  op.SetOutput("MeanSquareOut", std::move(mean_square));
  op.SetOutput("MomentOut", std::move(moment));
  op.SetOutput("MeanGradOut", std::move(mean_grad));
  return absl::OkStatus();
}

}  // namespace

Kernels OptimizersKernels() {
  return {
      {"sgd", Sgd},         {"momentum", Momentum}, {"adam", Adam},       {"adamw", AdamW},
      {"adagrad", Adagrad}, {"lamb", Lamb},         {"rmsprop", RmsProp},
  };
}

}  // namespace fixpoint::reference
