// Sums and scales of whole tensors, and clipping.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// scale: ScaleTensor [1] takes precedence over the attribute. Both parameters are converted to X's
// type first.
absl::Status Scale(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("ScaleTensor", 1));
  Array out = op.Input("X");
  const Array* tensor = op.FindInput("ScaleTensor");
  const double scale = Rounded(tensor != nullptr ? (*tensor)[0] : op.Float("scale"), out.dtype);
  const double bias = Rounded(op.Float("bias"), out.dtype);
  const bool bias_after_scale = op.Bool("bias_after_scale");
  for (double& x : out.values) x = bias_after_scale ? x * scale + bias : (x + bias) * scale;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Sum(OpRun& op) {
  const std::vector<const Array*> terms = op.Inputs("X");
  if (terms.empty()) return absl::InvalidArgumentError("X has no argument; want one or more");
  Array out = *terms[0];
  for (size_t t = 1; t < terms.size(); ++t) {
    if (terms[t]->dims != out.dims) {
      return absl::InvalidArgumentError(absl::StrCat("X[", t, "] is ", DimsText(terms[t]->dims),
                                                     "; want ", DimsText(out.dims), ", as X[0]"));
    }
    for (int64_t i = 0; i < out.size(); ++i) out[i] += (*terms[t])[i];
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Increment(OpRun& op) {
  Array out = op.Input("X");
  const double step = Rounded(op.Float("step"), out.dtype);
  for (double& x : out.values) x += step;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The mean of no elements is NaN.
absl::Status Mean(OpRun& op) {
  const Array& x = op.Input("X");
  Array out(x.dtype, op.ScalarDims());
  out[0] = std::accumulate(x.values.begin(), x.values.end(), 0.0) / x.size();
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status MeanGradient(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", 1));
  Array dx(x.dtype, x.dims);
  for (double& d : dx.values) d = op.Input("Out@GRAD")[0] / x.size();
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

struct Bounds {
  double min;
  double max;
};

// clip: the tensors Min and Max [1] take precedence over the attributes.
absl::StatusOr<Bounds> BoundsOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Min", 1));
  RETURN_IF_ERROR(op.CheckSize("Max", 1));
  const Array* min = op.FindInput("Min");
  const Array* max = op.FindInput("Max");
  return Bounds{min != nullptr ? (*min)[0] : op.Float("min"),
                max != nullptr ? (*max)[0] : op.Float("max")};
}

absl::Status Clip(OpRun& op) {
  ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(op));
  Array out = op.Input("X");
  for (double& x : out.values) x = std::min(std::max(x, bounds.min), bounds.max);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ClipGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(op));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  Array dx = op.Input("Out@GRAD");
  for (int64_t i = 0; i < dx.size(); ++i) {
    if (!(x[i] > bounds.min && x[i] < bounds.max)) dx[i] = 0;
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

double SquaredNorm(const Array& x) {
  return std::inner_product(x.values.begin(), x.values.end(), x.values.begin(), 0.0);
}

absl::Status ClipByNorm(OpRun& op) {
  Array out = op.Input("X");
  const double norm = std::sqrt(SquaredNorm(out));
  const double max_norm = op.Float("max_norm");
  if (norm > max_norm) {
    for (double& x : out.values) x *= max_norm / norm;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SquaredL2Norm(OpRun& op) {
  Array out(op.Input("X").dtype, Dims{1});
  out[0] = SquaredNorm(op.Input("X"));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SquaredL2NormGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", 1));
  Array dx = op.Input("X");
  for (double& x : dx.values) x *= 2 * op.Input("Out@GRAD")[0];
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels ArithmeticKernels() {
  return {
      {"scale", Scale},
      {"sum", Sum},
      {"increment", Increment},
      {"mean", Mean},
      {"mean_grad", MeanGradient},
      {"clip", Clip},
      {"clip_grad", ClipGradient},
      {"clip_by_norm", ClipByNorm},
      {"squared_l2_norm", SquaredL2Norm},
      {"squared_l2_norm_grad", SquaredL2NormGradient},
  };
}

}  // namespace fixpoint::reference
