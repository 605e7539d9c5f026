// Losses of elements.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::Status LabelSmooth(OpRun& op) {
  Array out = op.Input("X");
  if (out.rank() < 1) return absl::InvalidArgumentError("X is a scalar; want classes");
  const int64_t classes = out.dims.back();
  const Array* prior = op.FindInput("PriorDist");
  if (prior != nullptr) RETURN_IF_ERROR(op.CheckSize("PriorDist", classes));
  const double epsilon = op.Float("epsilon");
  for (int64_t i = 0; i < out.size(); ++i) {
    const double share = prior != nullptr ? (*prior)[i % classes] : 1.0 / classes;
    out[i] = (1 - epsilon) * out[i] + epsilon * share;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status LabelSmoothGradient(OpRun& op) {
  Array dx = op.Input("Out@GRAD");
  for (double& d : dx.values) d *= 1 - op.Float("epsilon");
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status LogLoss(OpRun& op) {
  const Array& predicted = op.Input("Predicted");
  const Array& labels = op.Input("Labels");
  RETURN_IF_ERROR(op.CheckDims("Labels", predicted.dims));
  const double epsilon = op.Float("epsilon");
  Array loss(predicted.dtype, predicted.dims);
  for (int64_t i = 0; i < loss.size(); ++i) {
    loss[i] = -labels[i] * std::log(predicted[i] + epsilon) -
              (1 - labels[i]) * std::log(1 - predicted[i] + epsilon);
  }
  op.SetOutput("Loss", std::move(loss));
  return absl::OkStatus();
}

absl::Status LogLossGradient(OpRun& op) {
  const Array& predicted = op.Input("Predicted");
  const Array& labels = op.Input("Labels");
  for (const char* slot : {"Labels", "Loss@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, predicted.dims));
  }
  const double epsilon = op.Float("epsilon");
  Array dx(predicted.dtype, predicted.dims);
  for (int64_t i = 0; i < dx.size(); ++i) {
    dx[i] = op.Input("Loss@GRAD")[i] *
            ((1 - labels[i]) / (1 - predicted[i] + epsilon) - labels[i] / (predicted[i] + epsilon));
  }
  op.SetOutput("Predicted@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status CheckProbabilities(const Array& x) {
  for (const double p : x.values) {
    if (!(p >= 0 && p <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("X has ", p, "; want probabilities, 0 to 1"));
    }
  }
  return absl::OkStatus();
}

absl::Status BceLoss(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& label = op.Input("Label");
  RETURN_IF_ERROR(op.CheckDims("Label", x.dims));
  RETURN_IF_ERROR(CheckProbabilities(x));
  const auto log_of = [](double p) { return std::max(std::log(p), -100.0); };
  Array out(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    out[i] = -label[i] * log_of(x[i]) - (1 - label[i]) * log_of(1 - x[i]);
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status BceLossGradient(OpRun& op) {
  const Array& x = op.Input("X");
  for (const char* slot : {"Label", "Out@GRAD"}) RETURN_IF_ERROR(op.CheckDims(slot, x.dims));
  Array dx(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    dx[i] = op.Input("Out@GRAD")[i] * (x[i] - op.Input("Label")[i]) /
            std::max((1 - x[i]) * x[i], 1e-12);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// What the sum of all losses is divided by; nothing: they are not added up.
absl::StatusOr<std::optional<double>> DivisorOf(const OpRun& op) {
  const Array& x = op.Input("X");
  const std::string reduction = op.String("reduction");
  if (reduction == "none") return std::nullopt;
  if (reduction == "sum") return 1;
  if (reduction == "mean") return x.size();
  if (reduction == "batchmean") return x.rank() > 0 ? x.dims[0] : 1;
  return absl::InvalidArgumentError(
      absl::StrCat("reduction is \"", reduction, "\"; want none, sum, mean or batchmean"));
}

absl::Status KlDivergence(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& target = op.Input("Target");
  RETURN_IF_ERROR(op.CheckDims("Target", x.dims));
  ASSIGN_OR_RETURN(const std::optional<double> divisor, DivisorOf(op));
  Array losses(x.dtype, x.dims);
  Array sum(x.dtype, op.ScalarDims());
  for (int64_t i = 0; i < x.size(); ++i) {
    if (!(target[i] <= 0)) losses[i] = target[i] * (std::log(target[i]) - x[i]);
    sum[0] += losses[i];
  }
  if (divisor) sum[0] /= *divisor;
  op.SetOutput("Loss", divisor ? std::move(sum) : std::move(losses));
  return absl::OkStatus();
}

absl::Status KlDivergenceGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& target = op.Input("Target");
  const Array& dloss = op.Input("Loss@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Target", x.dims));
  ASSIGN_OR_RETURN(const std::optional<double> divisor, DivisorOf(op));
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", divisor ? 1 : x.size()));
  Array dx(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (target[i] <= 0) continue;
    dx[i] = divisor ? -target[i] * dloss[0] / *divisor : -target[i] * dloss[i];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status HuberLoss(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  RETURN_IF_ERROR(op.CheckDims("Y", x.dims));
  const double delta = op.Float("delta");
  Array out(x.dtype, x.dims);
  Array residual(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double r = y[i] - x[i];
    residual[i] = r;
    out[i] = std::abs(r) <= delta ? r * r / 2 : delta * (std::abs(r) - delta / 2);
  }
  op.SetOutput("Residual", std::move(residual));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status HuberLossGradient(OpRun& op) {
  const Array& residual = op.Input("Residual");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", residual.dims));
  const double delta = op.Float("delta");
  Array dx(residual.dtype, residual.dims);
  Array dy(residual.dtype, residual.dims);
  for (int64_t i = 0; i < residual.size(); ++i) {
    const double r = residual[i];
    dy[i] = dout[i] * (std::abs(r) <= delta ? r : r > 0 ? delta : -delta);
    dx[i] = -dy[i];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

// What the elements of a row of X are compared with, each class with a label of its own: 1 where it
// is that of the row, -1 in a row that does not count.
struct FocalLoss {
  double gamma;
  double alpha;
  double divisor;

  double LossOf(double x, int kind) const {
    if (kind < 0) return 0;
    const double p = 1 / (1 + std::exp(-x));
    const double log_p = std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
    return kind == 1 ? -alpha * std::pow(1 - p, gamma) * log_p / divisor
                     : -(1 - alpha) * std::pow(p, gamma) * (log_p - x) / divisor;
  }
  double SlopeAt(double x, int kind) const {
    if (kind < 0) return 0;
    const double p = 1 / (1 + std::exp(-x));
    const double log_p = std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
    return kind == 1
               ? -alpha * std::pow(1 - p, gamma) * (1 - p - gamma * p * log_p) / divisor
               : -(1 - alpha) * std::pow(p, gamma) * (gamma * (1 - p) * (log_p - x) - p) / divisor;
  }
};

// Writes f(loss, i, kind) of each element i to `slot`.
template <typename F>
absl::Status OfFocalLoss(OpRun& op, absl::string_view slot, F f) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Label", Dims{x.dims[0], 1}));
  RETURN_IF_ERROR(op.CheckSize("FgNum", 1));
  const Array& label = op.Input("Label");
  const FocalLoss loss{op.Float("gamma"), op.Float("alpha"), std::max(op.Input("FgNum")[0], 1.0)};
  Array out(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double of_row = label[i / x.dims[1]];
    const int kind = of_row == -1 ? -1 : of_row == static_cast<double>(i % x.dims[1] + 1) ? 1 : 0;
    out[i] = f(loss, i, kind);
  }
  op.SetOutput(slot, std::move(out));
  return absl::OkStatus();
}

absl::Status SigmoidFocalLoss(OpRun& op) {
  return OfFocalLoss(op, "Out", [&](const FocalLoss& loss, int64_t i, int kind) {
    return loss.LossOf(op.Input("X")[i], kind);
  });
}

absl::Status SigmoidFocalLossGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.Input("X").dims));
  return OfFocalLoss(op, "X@GRAD", [&](const FocalLoss& loss, int64_t i, int kind) {
    return op.Input("Out@GRAD")[i] * loss.SlopeAt(op.Input("X")[i], kind);
  });
}

}  // namespace

Kernels LossesKernels() {
  return {{"label_smooth", LabelSmooth},
          {"label_smooth_grad", LabelSmoothGradient},
          {"log_loss", LogLoss},
          {"log_loss_grad", LogLossGradient},
          {"bce_loss", BceLoss},
          {"bce_loss_grad", BceLossGradient},
          {"kldiv_loss", KlDivergence},
          {"kldiv_loss_grad", KlDivergenceGradient},
          {"huber_loss", HuberLoss},
          {"huber_loss_grad", HuberLossGradient},
          {"sigmoid_focal_loss", SigmoidFocalLoss},
          {"sigmoid_focal_loss_grad", SigmoidFocalLossGradient}};
}

}  // namespace fixpoint::reference
