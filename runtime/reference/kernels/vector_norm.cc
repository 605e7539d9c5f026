// Norms of the vectors along an axis.

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

bool IsOfAll(const OpRun& op) { return op.era() == Era::kPaddle2 && op.Bool("asvector"); }

absl::StatusOr<AxisView> VectorsOf(const OpRun& op) {
  const Array& x = op.Input("X");
  if (IsOfAll(op)) return AxisView{1, x.size(), 1};
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  return ViewAround(x.dims, axis);
}

absl::Status Norm(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const AxisView view, VectorsOf(op));
  const double order = op.Float("porder");
  Dims dims = x.dims;
  if (IsOfAll(op)) {
    dims.assign(op.Bool("keepdim") ? dims.size() : 0, 1);
  } else {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
    dims[axis] = 1;
    if (!op.Bool("keepdim")) dims.erase(dims.begin() + axis);
  }
  if (dims.empty()) dims = op.ScalarDims();
  Array out(x.dtype, dims);
  int64_t line = 0;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    double norm = order == -INFINITY ? INFINITY : 0;
    for (int64_t i = 0; i < size; ++i) {
      const double magnitude = std::fabs(x[start + i * stride]);
      if (std::isinf(order)) {
        norm = order > 0 ? std::max(norm, magnitude) : std::min(norm, magnitude);
      } else {
        norm += order == 0 ? magnitude != 0 : std::pow(magnitude, order);
      }
    }
    out[line++] = order == 0 || std::isinf(order) ? norm : std::pow(norm, 1 / order);
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status NormGradient(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const AxisView view, VectorsOf(op));
  const double order = op.Float("porder");
  const double epsilon = op.Float("epsilon");
  RETURN_IF_ERROR(op.CheckSize("Out", view.outer * view.inner));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", view.outer * view.inner));
  const Array& out = op.Input("Out");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  int64_t line = 0;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    const double norm = out[line];
    const double dnorm = dout[line++];
    for (int64_t i = 0; i < size && order != 0; ++i) {
      const double element = x[start + i * stride];
      const double sign = element > 0 ? 1 : element < 0 ? -1 : 0;
      const double magnitude = std::fabs(element);
      dx[start + i * stride] = std::isinf(order) ? (magnitude == norm ? sign * dnorm : 0)
                                                 : std::pow(magnitude, order - 1) * sign * dnorm *
                                                       std::pow(norm + epsilon, 1 - order);
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status Normalize(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Dims dims = x.dims;
  dims[axis] = 1;
  Array norms(x.dtype, dims);
  Array out(x.dtype, x.dims);
  int64_t line = 0;
  ForEachLine(ViewAround(x.dims, axis), [&](int64_t start, int64_t stride, int64_t size) {
    double squares = op.Float("epsilon");
    for (int64_t i = 0; i < size; ++i) squares += x[start + i * stride] * x[start + i * stride];
    const double norm = std::sqrt(squares);
    for (int64_t i = 0; i < size; ++i) out[start + i * stride] = x[start + i * stride] / norm;
    norms[line++] = norm;
  });
  op.SetOutput("Norm", std::move(norms));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Finds the norms again.
absl::Status NormalizeGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Array dx(x.dtype, x.dims);
  ForEachLine(ViewAround(x.dims, axis), [&](int64_t start, int64_t stride, int64_t size) {
    double squares = op.Float("epsilon");
    double dot = 0;
    for (int64_t at = start; at < start + size * stride; at += stride) {
      squares += x[at] * x[at];
      dot += x[at] * dout[at];
    }
    for (int64_t at = start; at < start + size * stride; at += stride) {
      dx[at] = (dout[at] - x[at] * dot / squares) / std::sqrt(squares);
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels VectorNormKernels() {
  return {{"p_norm", Norm},
          {"p_norm_grad", NormGradient},
          {"norm", Normalize},
          {"norm_grad", NormalizeGradient}};
}

}  // namespace fixpoint::reference
