// Sums and scales of whole tensors, and clipping.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/array_sum.h"
#include "runtime/reference/selected_rows.h"

namespace fixpoint::reference {
namespace {

// scale: ScaleTensor [1] takes precedence over the attribute. Both parameters are converted to X's
// type first.
absl::Status Scale(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("ScaleTensor", 1));
  const Array& x = op.Input("X");
  const Array* tensor = op.FindInput("ScaleTensor");
  Array out = x;
  const double scale = Rounded(tensor != nullptr ? (*tensor)[0] : op.Float("scale"), out.dtype);
  const double bias = Rounded(op.Float("bias"), out.dtype);
  const bool bias_after_scale = op.Bool("bias_after_scale");
  const auto scaled = [=](double element) {
    return bias_after_scale ? element * scale + bias : (element + bias) * scale;
  };
  if (x.rows != nullptr) {
    op.SetSelectedRows("Out", WithRows(x, scaled));
    return absl::OkStatus();
  }
  for (double& element : out.values) element = scaled(element);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Sum(OpRun& op) {
  const std::vector<const Array*> terms = op.Inputs("X");
  if (terms.empty()) return absl::InvalidArgumentError("X has no argument; want one or more");
  Array out = *terms[0];
  if (out.elements) {
    for (size_t t = 1; t < terms.size(); ++t) RETURN_IF_ERROR(AddTo(*terms[t], &out));
    op.SetOutput("Out", std::move(out));
    return absl::OkStatus();
  }
  for (size_t t = 1; t < terms.size(); ++t) {
    if (terms[t]->elements || terms[t]->dims != out.dims) {
      return absl::InvalidArgumentError(absl::StrCat("X[", t, "] is ", DimsText(terms[t]->dims),
                                                     "; want ", DimsText(out.dims), ", as X[0]"));
    }
    for (int64_t i = 0; i < out.size(); ++i) out[i] += (*terms[t])[i];
  }
  const bool all_selected = std::all_of(terms.begin(), terms.end(),
                                        [](const Array* term) { return term->rows != nullptr; });
  if (all_selected) {
    TableRows rows;
    for (const Array* term : terms) {
      rows.ids.insert(rows.ids.end(), term->rows->ids.begin(), term->rows->ids.end());
      rows.values.insert(rows.values.end(), term->rows->values.begin(), term->rows->values.end());
    }
    op.SetSelectedRows("Out", TableOf(out.dtype, out.dims, Merged(rows)));
    return absl::OkStatus();
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
  const auto clipped = [&bounds](double element) {
    return std::min(std::max(element, bounds.min), bounds.max);
  };
  Array out = op.Input("X");
  if (out.rows != nullptr) {
    const Array merged = TableOf(out.dtype, out.dims, Merged(*out.rows));
    op.SetSelectedRows("Out", WithRows(merged, clipped));
    return absl::OkStatus();
  }
  for (double& element : out.values) element = clipped(element);
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
  const double factor = norm > max_norm ? max_norm / norm : 1;
  if (out.rows != nullptr) {
    const Array merged = TableOf(out.dtype, out.dims, Merged(*out.rows));
    op.SetSelectedRows("Out", WithRows(merged, [=](double element) { return element * factor; }));
    return absl::OkStatus();
  }
  for (double& x : out.values) x *= factor;
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
