// affine_grid: the places of an image that a matrix gives.

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"

namespace fixpoint::reference {
namespace {

// The attribute or input, [N,C,H,W].
absl::StatusOr<Dims> ImageOf(const OpRun& op, int64_t batch) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                   IntsFrom(op, "OutputShape", "", "output_shape"));
  const Dims dims(shape.begin(), shape.end());
  const bool fits = dims.size() == 4 && dims[0] == batch && dims[2] >= 1 && dims[3] >= 1;
  if (fits && ElementCount({dims[0], dims[2], dims[3], 2}).ok()) return dims;
  return absl::InvalidArgumentError(absl::StrCat("output_shape is ", DimsText(dims), "; want [",
                                                 batch, ", channels, height, width]"));
}

// The place of a pixel along an axis of so many.
double PlaceOf(const OpRun& op, int64_t pixel, int64_t size) {
  const bool aligns = op.era() == Era::kFluid || op.Bool("align_corners");
  if (!aligns) return static_cast<double>(2 * pixel + 1 - size) / size;
  return size > 1 ? static_cast<double>(2 * pixel) / (size - 1) - 1 : -1;
}

// Calls f(n, i, place) with each pixel: its image, its number among the pixels of all images, and
// its x, y and 1.
template <typename F>
void ForEachPixel(const OpRun& op, const Dims& image, F f) {
  int64_t i = 0;
  for (int64_t n = 0; n < image[0]; ++n) {
    for (int64_t h = 0; h < image[2]; ++h) {
      for (int64_t w = 0; w < image[3]; ++w, ++i) {
        const double place[3] = {PlaceOf(op, w, image[3]), PlaceOf(op, h, image[2]), 1};
        f(n, i, place);
      }
    }
  }
}

absl::Status AffineGrid(OpRun& op) {
  const Array& theta = op.Input("Theta");
  RETURN_IF_ERROR(op.CheckRank("Theta", 3));
  RETURN_IF_ERROR(op.CheckDims("Theta", Dims{theta.dims[0], 2, 3}));
  ASSIGN_OR_RETURN(const Dims image, ImageOf(op, theta.dims[0]));
  Array grid(theta.dtype, Dims{image[0], image[2], image[3], 2});
  ForEachPixel(op, image, [&](int64_t n, int64_t i, const double* place) {
    for (int64_t k = 0; k < 2; ++k) {
      for (int64_t j = 0; j < 3; ++j) grid[2 * i + k] += theta[(n * 2 + k) * 3 + j] * place[j];
    }
  });
  op.SetOutput("Output", std::move(grid));
  return absl::OkStatus();
}

absl::Status AffineGridGradient(OpRun& op) {
  const Array& dgrid = op.Input("Output@GRAD");
  RETURN_IF_ERROR(op.CheckRank("Output@GRAD", 4));
  ASSIGN_OR_RETURN(const Dims image, ImageOf(op, dgrid.dims[0]));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", Dims{image[0], image[2], image[3], 2}));
  Array dtheta(dgrid.dtype, Dims{image[0], 2, 3});
  ForEachPixel(op, image, [&](int64_t n, int64_t i, const double* place) {
    for (int64_t k = 0; k < 2; ++k) {
      for (int64_t j = 0; j < 3; ++j) dtheta[(n * 2 + k) * 3 + j] += dgrid[2 * i + k] * place[j];
    }
  });
  op.SetOutput("Theta@GRAD", std::move(dtheta));
  return absl::OkStatus();
}

}  // namespace

Kernels AffineGridKernels() {
  return {{"affine_grid", AffineGrid}, {"affine_grid_grad", AffineGridGradient}};
}

}  // namespace fixpoint::reference
