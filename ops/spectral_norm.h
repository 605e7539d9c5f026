// The matrix of which spectral_norm finds the largest singular value.

#ifndef FIXPOINT_OPS_SPECTRAL_NORM_H_
#define FIXPOINT_OPS_SPECTRAL_NORM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// Each passes over the whole weight twice.
inline constexpr int64_t kMostPowerIterations = 1 << 12;

// An attribute power_iters. Error (kInvalidArgument): it is not from 0 to kMostPowerIterations.
absl::Status CheckPowerIterations(int64_t iterations);

// A weight as a matrix, whose row i is made of blocks of `inner` elements: in memory each block of
// row 0 is followed by those of the other rows. Sizes may be unknown (kUnknownDim).
struct SpectralMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t blocks = 0;  // 0 where there are no columns
  int64_t inner = 0;

  // Where an element is.
  int64_t At(int64_t row, int64_t column) const {
    return (column / inner * rows + row) * inner + column % inner;
  }

  // Of the attribute dim, the axis of the rows. Error (kInvalidArgument): it is no axis of the
  // weight, or there are more columns than an int64 holds.
  static absl::StatusOr<SpectralMatrix> Of(DimsView weight, int64_t axis);
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SPECTRAL_NORM_H_
