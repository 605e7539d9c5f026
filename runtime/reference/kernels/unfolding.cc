// unfold: windows of images as columns; and fold: their sums as images.

#include "ops/unfolding.h"

#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<Unfolding> UnfoldingOf(const OpRun& op) {
  return Unfolding::Of(op.Input("X").dims, op.Ints("kernel_sizes"), op.Ints("strides"),
                       op.Ints("paddings"), op.Ints("dilations"));
}

absl::Status Unfold(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, UnfoldingOf(op));
  ASSIGN_OR_RETURN(const Dims dims, unfolding.OutDims());
  const Array& x = op.Input("X");
  Array y(x.dtype, dims);
  unfolding.ForEachTap([&](int64_t x_i, int64_t y_i) { y[y_i] = x[x_i]; });
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status UnfoldGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, UnfoldingOf(op));
  ASSIGN_OR_RETURN(const Dims dims, unfolding.OutDims());
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", dims));
  const Array& dy = op.Input("Y@GRAD");
  Array dx(dy.dtype, op.Input("X").dims);
  unfolding.ForEachTap([&](int64_t x_i, int64_t y_i) { dx[x_i] += dy[y_i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// That of the images of fold, which inference finds to fit X.
absl::StatusOr<Unfolding> FoldingOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 3));
  const Dims& x = op.Input("X").dims;
  const std::vector<int64_t> sizes = op.Ints("output_sizes");
  const std::vector<int64_t> kernel = op.Ints("kernel_sizes");
  if (sizes.size() != 2 || kernel.size() != 2 || kernel[0] < 1 || kernel[1] < 1) {
    return absl::InvalidArgumentError(
        "output_sizes or kernel_sizes has other than 2 positive values; want 2 of each");
  }
  ASSIGN_OR_RETURN(const int64_t taps, ElementCount({kernel[0], kernel[1]}));
  ASSIGN_OR_RETURN(const Unfolding unfolding,
                   Unfolding::Of(Dims{x[0], x[1] / taps, sizes[0], sizes[1]}, kernel,
                                 op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations")));
  ASSIGN_OR_RETURN(const Dims columns, unfolding.OutDims());
  RETURN_IF_ERROR(op.CheckDims("X", columns));
  return unfolding;
}

Dims ImageDims(const Unfolding& unfolding) {
  return {unfolding.batch, unfolding.channels, unfolding.rows.size, unfolding.columns.size};
}

absl::Status Fold(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  const Array& x = op.Input("X");
  Array y(x.dtype, ImageDims(unfolding));
  unfolding.ForEachTap([&](int64_t image_i, int64_t x_i) { y[image_i] += x[x_i]; });
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status FoldGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", ImageDims(unfolding)));
  const Array& dy = op.Input("Y@GRAD");
  Array dx(dy.dtype, op.Input("X").dims);
  unfolding.ForEachTap([&](int64_t image_i, int64_t x_i) { dx[x_i] = dy[image_i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels UnfoldingKernels() {
  return {{"unfold", Unfold},
          {"unfold_grad", UnfoldGradient},
          {"fold", Fold},
          {"fold_grad", FoldGradient}};
}

}  // namespace fixpoint::reference
