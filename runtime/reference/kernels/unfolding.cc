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

absl::StatusOr<Unfolding> FoldingOf(const OpRun& op) {
  return Unfolding::OfColumns(op.Input("X").dims, op.Ints("output_sizes"), op.Ints("kernel_sizes"),
                              op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"));
}

absl::Status Fold(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  const Array& x = op.Input("X");
  Array y(x.dtype, unfolding.ImageDims());
  unfolding.ForEachTap([&](int64_t image_i, int64_t x_i) { y[image_i] += x[x_i]; });
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status FoldGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", unfolding.ImageDims()));
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
