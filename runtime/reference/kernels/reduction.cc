// Reductions over axes.

#include <algorithm>
#include <cmath>
#include <functional>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// Which element of the result each element of X belongs to.
struct Reduction {
  Dims out_dims;
  Dims out_strides;  // one for each of X's axes, 0 where it is reduced
  int64_t count;     // of elements that make one
};

absl::StatusOr<Reduction> ReductionOf(const OpRun& op) {
  const Dims& dims = op.Input("X").dims;
  const int rank = static_cast<int>(dims.size());
  const bool has_tensors = op.HasInputSlot("AxisTensor");
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> axes,
      IntsFrom(op, has_tensors ? "AxisTensor" : "", has_tensors ? "AxisTensorList" : "", "dim"));
  std::vector<bool> is_reduced(rank, op.Bool("reduce_all") || axes.empty());
  for (const int64_t axis : axes) {
    if (op.Bool("reduce_all")) break;
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, rank));
    is_reduced[i] = true;
  }
  Reduction reduction;
  Dims kept = dims;
  for (int i = 0; i < rank; ++i) {
    if (is_reduced[i]) kept[i] = 1;
    if (!is_reduced[i] || op.Bool("keep_dim")) reduction.out_dims.push_back(kept[i]);
  }
  if (reduction.out_dims.empty()) reduction.out_dims = op.ScalarDims();
  reduction.out_strides = Strides(kept);
  for (int i = 0; i < rank; ++i) {
    if (is_reduced[i]) reduction.out_strides[i] = 0;
  }
  const int64_t out_size = Volume(kept);
  reduction.count = out_size > 0 ? Volume(dims) / out_size : 0;
  return reduction;
}

using Combine = std::function<double(double sum, double x)>;

// Combines the elements in order, from `first` on; the result is divided by their number for a
// mean.
absl::Status Reduce(OpRun& op, double first, const Combine& combine, bool is_mean) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(op));
  Array out(x.dtype, reduction.out_dims);
  if (op.Int("out_dtype") >= 0) {
    ASSIGN_OR_RETURN(out.dtype, op.DataType("out_dtype"));
  }
  std::fill(out.values.begin(), out.values.end(), first);
  ForEachPlace(x.dims, reduction.out_strides,
               [&](int64_t i, int64_t out_i) { out[out_i] = combine(out[out_i], x[i]); });
  if (is_mean) {
    for (double& element : out.values) element /= reduction.count;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ReduceToBool(OpRun& op, bool first, const Combine& combine) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(op));
  Array out(VarType::BOOL, reduction.out_dims);
  std::fill(out.values.begin(), out.values.end(), first);
  ForEachPlace(x.dims, reduction.out_strides,
               [&](int64_t i, int64_t out_i) { out[out_i] = combine(out[out_i], x[i]); });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// For a sum or a mean: the gradient of each result goes to all elements that it was computed from.
absl::Status ReduceGradient(OpRun& op, bool is_mean) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(reduction.out_dims)));
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachPlace(x.dims, reduction.out_strides, [&](int64_t i, int64_t out_i) {
    dx[i] = is_mean ? dout[out_i] / reduction.count : dout[out_i];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// For a maximum: the gradient of each result goes to all elements that are equal to it.
absl::Status MaximumGradient(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(op));
  const int64_t size = Volume(reduction.out_dims);
  RETURN_IF_ERROR(op.CheckSize("Out", size));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", size));
  const Array& out = op.Input("Out");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachPlace(x.dims, reduction.out_strides,
               [&](int64_t i, int64_t out_i) { dx[i] = x[i] == out[out_i] ? dout[out_i] : 0; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

Kernel Reducing(double first, Combine combine, bool is_mean = false) {
  return [=](OpRun& op) { return Reduce(op, first, combine, is_mean); };
}

double Larger(double a, double b) { return std::isnan(b) || b > a ? b : a; }
double Smaller(double a, double b) { return std::isnan(b) || b < a ? b : a; }

// Running sums along an axis: exclusive of the element itself, or from the end.
absl::Status SetRunningSums(OpRun& op, Array out, const char* output, bool reverse) {
  const Dims dims = out.dims;
  if (op.Bool("flatten")) out.dims = {out.size()};
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), out.rank()));
  const bool exclusive = op.Bool("exclusive");
  ForEachLine(ViewAround(out.dims, axis), [&](int64_t start, int64_t stride, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      double& element = out[start + (reverse ? size - 1 - i : i) * stride];
      const double before = sum;
      sum += element;
      element = exclusive ? before : sum;
    }
  });
  if (absl::string_view(output) == "X@GRAD") out.dims = dims;
  op.SetOutput(output, std::move(out));
  return absl::OkStatus();
}

absl::Status CumSum(OpRun& op) {
  return SetRunningSums(op, op.Input("X"), "Out", op.Bool("reverse"));
}

// The same sum in the opposite direction.
absl::Status CumSumGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.Input("X").size()));
  Array dout = op.Input("Out@GRAD");
  dout.Reshape(op.Input("X").dims);
  return SetRunningSums(op, std::move(dout), "X@GRAD", !op.Bool("reverse"));
}

}  // namespace

Kernels ReductionKernels() {
  const Combine add = [](double sum, double x) { return sum + x; };
  return {
      {"reduce_sum", Reducing(0, add)},
      {"reduce_mean", Reducing(0, add, /*is_mean=*/true)},
      {"reduce_max", Reducing(-INFINITY, Larger)},
      {"reduce_min", Reducing(INFINITY, Smaller)},
      {"reduce_prod", Reducing(1, [](double product, double x) { return product * x; })},
      {"reduce_all",
       [](OpRun& op) {
         return ReduceToBool(op, true, [](double all, double x) { return all != 0 && x != 0; });
       }},
      {"reduce_any",
       [](OpRun& op) {
         return ReduceToBool(op, false, [](double any, double x) { return any != 0 || x != 0; });
       }},
      {"reduce_sum_grad", [](OpRun& op) { return ReduceGradient(op, /*is_mean=*/false); }},
      {"reduce_max_grad", MaximumGradient},
      {"reduce_mean_grad", [](OpRun& op) { return ReduceGradient(op, /*is_mean=*/true); }},
      {"cumsum", CumSum},
      {"cumsum_grad", CumSumGradient},
  };
}

}  // namespace fixpoint::reference
