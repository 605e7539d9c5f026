#include "ops/spectral_norm.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {

absl::Status CheckPowerIterations(int64_t iterations) {
  if (iterations >= 0 && iterations <= kMostPowerIterations) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("power_iters is ", iterations, "; want 0 to ", kMostPowerIterations));
}

absl::StatusOr<SpectralMatrix> SpectralMatrix::Of(DimsView weight, int64_t axis) {
  if (axis < 0 || axis >= static_cast<int64_t>(weight.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim is ", axis, " and Weight ", DimsText(weight), "; want an axis of it"));
  }
  Dims others(weight.begin(), weight.begin() + axis);
  others.insert(others.end(), weight.begin() + axis + 1, weight.end());
  SpectralMatrix matrix;
  matrix.rows = weight[axis];
  ASSIGN_OR_RETURN(matrix.columns, ElementCount(others));
  if (matrix.columns == 0) return matrix;
  ASSIGN_OR_RETURN(matrix.blocks, ElementCount(weight.subspan(0, axis)));
  ASSIGN_OR_RETURN(matrix.inner, ElementCount(weight.subspan(axis + 1)));
  return matrix;
}

}  // namespace fixpoint
