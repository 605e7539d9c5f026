// Losses of elements.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/lane_sums.h"

namespace fixpoint::executor {
namespace {

// What each element of a result is computed from, at its place.
using OfElements = float (*)(double a, double b, double c, double epsilon);

// Adds the step that computes `output` from two or three inputs of the same dims. `epsilon`: handed
// to `function`.
absl::Status AddLoss(OpPlanner& op, std::initializer_list<const char*> slots, const char* output,
                     double epsilon, OfElements function) {
  const TensorType type = op.InputType(*slots.begin());
  std::vector<Buffer> reads;
  for (const char* slot : slots) {
    RETURN_IF_ERROR(op.CheckDims(slot, type.dims));
    ASSIGN_OR_RETURN(const Buffer read, op.ReadFloats(slot));
    reads.push_back(read);
  }
  const Buffer out = op.WriteOver(output, type, Layout::kRowMajor, reads[0]);
  AddElementStep(op, reads, out,
                 [=, has_third = reads.size() > 2](const kernels::ElementBlock& block) {
                   const absl::Span<const float> a = block.In<float>(0);
                   const absl::Span<const float> b = block.In<float>(1);
                   const absl::Span<const float> c = has_third ? block.In<float>(2) : b;
                   const absl::Span<float> to = block.Out<float>();
                   for (size_t i = 0; i < to.size(); ++i)
                     to[i] = function(a[i], b[i], c[i], epsilon);
                 });
  return absl::OkStatus();
}

absl::Status PlanLabelSmooth(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  if (type.dims.empty()) return absl::InvalidArgumentError("X is a scalar; want classes");
  const int64_t classes = type.dims.back();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  std::vector<Buffer> reads = {x};
  if (op.HasInput("PriorDist")) {
    RETURN_IF_ERROR(op.CheckSize("PriorDist", classes));
    ASSIGN_OR_RETURN(const Buffer prior, op.ReadFloats("PriorDist"));
    reads.push_back(prior);
  }
  const double epsilon = op.attributes().Float("epsilon");
  const Buffer out = op.WriteOver("Out", type, Layout::kRowMajor, x);
  op.AddStep({reads, {out}, [=](const StepContext& run) {
                const absl::Span<const float> from = run.Floats(x);
                const absl::Span<float> to = run.Floats(out);
                const float* const prior = reads.size() > 1 ? run.Floats(reads[1]).data() : nullptr;
                for (size_t i = 0; i < to.size(); ++i) {
                  const double share = prior != nullptr ? prior[i % classes] : 1.0 / classes;
                  to[i] = static_cast<float>((1 - epsilon) * from[i] + epsilon * share);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanLabelSmoothGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Out@GRAD");
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", type, Layout::kRowMajor, dout);
  const auto factor = static_cast<float>(1 - op.attributes().Float("epsilon"));
  AddElementStep(op, {dout}, dx, [factor](const kernels::ElementBlock& block) {
    const absl::Span<const float> from = block.In<float>(0);
    const absl::Span<float> to = block.Out<float>();
    for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] * factor;
  });
  return absl::OkStatus();
}

absl::Status PlanLogLoss(OpPlanner& op) {
  return AddLoss(op, {"Predicted", "Labels"}, "Loss", op.attributes().Float("epsilon"),
                 [](double p, double label, double, double epsilon) {
                   return static_cast<float>(-label * std::log(p + epsilon) -
                                             (1 - label) * std::log(1 - p + epsilon));
                 });
}

absl::Status PlanLogLossGradient(OpPlanner& op) {
  return AddLoss(op, {"Predicted", "Labels", "Loss@GRAD"}, "Predicted@GRAD",
                 op.attributes().Float("epsilon"),
                 [](double p, double label, double dloss, double epsilon) {
                   return static_cast<float>(
                       dloss * ((1 - label) / (1 - p + epsilon) - label / (p + epsilon)));
                 });
}

double LogOf(double p) { return std::max(std::log(p), -100.0); }

absl::Status PlanBceLoss(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(op.CheckDims("Label", type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer label, op.ReadFloats("Label"));
  const Buffer out = op.WriteOver("Out", type, Layout::kRowMajor, x);
  op.AddStep({{x, label}, {out}, [=](const StepContext& run) {
                const absl::Span<const float> from = run.Floats(x);
                const absl::Span<const float> labels = run.Floats(label);
                const absl::Span<float> to = run.Floats(out);
                for (size_t i = 0; i < to.size(); ++i) {
                  const double p = from[i];
                  if (!(p >= 0 && p <= 1)) {
                    return absl::InvalidArgumentError(
                        absl::StrCat("X has ", p, "; want probabilities, 0 to 1"));
                  }
                  to[i] =
                      static_cast<float>(-labels[i] * LogOf(p) - (1 - labels[i]) * LogOf(1 - p));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanBceLossGradient(OpPlanner& op) {
  return AddLoss(op, {"X", "Label", "Out@GRAD"}, "X@GRAD", 0,
                 [](double p, double label, double dout, double) {
                   return static_cast<float>(dout * (p - label) / std::max((1 - p) * p, 1e-12));
                 });
}

// What the sum of all losses is divided by; nothing: they are not added up.
absl::StatusOr<std::optional<double>> DivisorOf(const OpPlanner& op) {
  const TensorType& x = op.InputType("X");
  const std::string reduction = op.attributes().String("reduction");
  if (reduction == "none") return std::nullopt;
  if (reduction == "sum") return 1;
  if (reduction == "mean") return static_cast<double>(x.size());
  if (reduction == "batchmean") return static_cast<double>(x.dims.empty() ? 1 : x.dims[0]);
  return absl::InvalidArgumentError(
      absl::StrCat("reduction is \"", reduction, "\"; want none, sum, mean or batchmean"));
}

double DivergenceAt(double x, double target) {
  return target <= 0 ? 0 : target * (std::log(target) - x);
}

absl::Status PlanKlDivergence(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::optional<double> divisor, DivisorOf(op));
  if (!divisor) {
    return AddLoss(op, {"X", "Target"}, "Loss", 0, [](double x, double target, double, double) {
      return static_cast<float>(DivergenceAt(x, target));
    });
  }
  RETURN_IF_ERROR(op.CheckDims("Target", op.InputDims("X")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer target, op.ReadFloats("Target"));
  const Buffer loss = op.WriteAs("Loss", {VarType::FP32, {1}});
  op.AddStep({{x, target}, {loss}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                const float* const targets = run.Floats(target).data();
                const double sum = kernels::LaneSum(
                    x.size, [=](int64_t i) { return DivergenceAt(from[i], targets[i]); });
                run.Floats(loss)[0] = static_cast<float>(sum / *divisor);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanKlDivergenceGradient(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const std::optional<double> divisor, DivisorOf(op));
  RETURN_IF_ERROR(op.CheckDims("Target", type.dims));
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", divisor ? 1 : type.size()));
  ASSIGN_OR_RETURN(const Buffer target, op.ReadFloats("Target"));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Loss@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", type, Layout::kRowMajor, target);
  op.AddStep({{target, dloss}, {dx}, [=](const StepContext& run) {
                const absl::Span<const float> targets = run.Floats(target);
                const absl::Span<const float> dlosses = run.Floats(dloss);
                const absl::Span<float> to = run.Floats(dx);
                for (size_t i = 0; i < to.size(); ++i) {
                  const double d = divisor ? dlosses[0] / *divisor : dlosses[i];
                  to[i] = targets[i] <= 0 ? 0 : static_cast<float>(-targets[i] * d);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanHuberLoss(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(op.CheckDims("Y", type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  const Buffer residual = op.WriteAs("Residual", type);
  const Buffer out = op.WriteAs("Out", type);
  const float delta = op.Number("delta");
  op.AddStep({{x, y}, {residual, out}, [=](const StepContext& run) {
                const absl::Span<const float> a = run.Floats(x);
                const absl::Span<const float> b = run.Floats(y);
                for (size_t i = 0; i < a.size(); ++i) {
                  const float r = b[i] - a[i];
                  const float size = std::abs(r);
                  run.Floats(residual)[i] = r;
                  run.Floats(out)[i] = size <= delta ? 0.5f * r * r : delta * (size - 0.5f * delta);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanHuberLossGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Residual");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", type.dims));
  ASSIGN_OR_RETURN(const Buffer residual, op.ReadFloats("Residual"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  const Buffer dy = op.WriteAs("Y@GRAD", type);
  const float delta = op.Number("delta");
  op.AddStep({{residual, dout}, {dx, dy}, [=](const StepContext& run) {
                const absl::Span<const float> differences = run.Floats(residual);
                const absl::Span<const float> gradients = run.Floats(dout);
                for (size_t i = 0; i < differences.size(); ++i) {
                  const float r = differences[i];
                  const float slope = std::abs(r) <= delta ? r : r > 0 ? delta : -delta;
                  run.Floats(dy)[i] = gradients[i] * slope;
                  run.Floats(dx)[i] = -gradients[i] * slope;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// An element of X, compared with a label of its own: whether its class is that of the row.
struct FocalLoss {
  double gamma;
  double alpha;

  double LossOf(double x, bool is_label) const {
    const double p = 1 / (1 + std::exp(-x));
    const double log_p = std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
    return is_label ? -alpha * std::pow(1 - p, gamma) * log_p
                    : -(1 - alpha) * std::pow(p, gamma) * (log_p - x);
  }
  double SlopeAt(double x, bool is_label) const {
    const double p = 1 / (1 + std::exp(-x));
    const double log_p = std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
    return is_label ? -alpha * std::pow(1 - p, gamma) * (1 - p - gamma * p * log_p)
                    : -(1 - alpha) * std::pow(p, gamma) * (gamma * (1 - p) * (log_p - x) - p);
  }
};

// The loss of each element, or its gradient.
absl::Status PlanFocalLoss(OpPlanner& op, bool is_gradient) {
  const TensorType type = op.InputType("X");
  if (type.dims.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(type.dims), "; want [rows, classes]"));
  }
  const int64_t rows = type.dims[0];
  const int64_t classes = type.dims[1];
  RETURN_IF_ERROR(op.CheckDims("Label", {rows, 1}));
  RETURN_IF_ERROR(op.CheckSize("FgNum", 1));
  const ReadShape of_x = ReadShape::Of(op, "X");
  const ReadShape of_label = ReadShape::Of(op, "Label");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer label, op.Read("Label", VarType::INT32));
  ASSIGN_OR_RETURN(const Buffer count, op.Read("FgNum", VarType::INT32));
  std::vector<Buffer> reads = {x, label, count};
  if (is_gradient) {
    RETURN_IF_ERROR(op.CheckDims("Out@GRAD", type.dims));
    op.TakeRunShape("Out@GRAD");
    ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
    reads.push_back(dout);
  }
  for (const ReadShape& shape : {of_x, of_label}) {
    for (const Buffer buffer : shape.buffers()) reads.push_back(buffer);
  }
  const char* const slot = is_gradient ? "X@GRAD" : "Out";
  const Buffer out = op.WriteAs(slot, type);
  op.KeepRows("X", slot);
  const FocalLoss loss{op.attributes().Float("gamma"), op.attributes().Float("alpha")};
  op.AddStep({reads, {out}, [=](const StepContext& run) {
                const int64_t labels = of_label.DimsIn(run)[0];
                if (labels != of_x.DimsIn(run)[0]) {
                  return absl::InvalidArgumentError(absl::StrCat("there are ", labels,
                                                                 " labels of ", of_x.DimsIn(run)[0],
                                                                 " rows; want one for each"));
                }
                const absl::Span<const float> from = run.Floats(x);
                const absl::Span<float> to = run.Floats(out);
                const double divisor = std::max(run.Of<int32_t>(count)[0], 1);
                for (size_t i = 0; i < to.size(); ++i) {
                  const auto place = static_cast<int64_t>(i);
                  const int32_t of_row = run.Of<int32_t>(label)[place / classes];
                  const bool is_label = of_row == place % classes + 1;
                  double value = 0;
                  if (of_row != -1) {
                    value = is_gradient ? loss.SlopeAt(from[i], is_label) * run.Floats(reads[3])[i]
                                        : loss.LossOf(from[i], is_label);
                  }
                  to[i] = static_cast<float>(value / divisor);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans LossesPlans() {
  return {{"label_smooth", PlanLabelSmooth},
          {"label_smooth_grad", PlanLabelSmoothGradient},
          {"log_loss", PlanLogLoss},
          {"log_loss_grad", PlanLogLossGradient},
          {"bce_loss", PlanBceLoss},
          {"bce_loss_grad", PlanBceLossGradient},
          {"kldiv_loss", PlanKlDivergence},
          {"kldiv_loss_grad", PlanKlDivergenceGradient},
          {"huber_loss", PlanHuberLoss},
          {"huber_loss_grad", PlanHuberLossGradient},
          {"sigmoid_focal_loss",
           [](OpPlanner& op) { return PlanFocalLoss(op, /*is_gradient=*/false); }},
          {"sigmoid_focal_loss_grad",
           [](OpPlanner& op) { return PlanFocalLoss(op, /*is_gradient=*/true); }}};
}

}  // namespace fixpoint::executor
