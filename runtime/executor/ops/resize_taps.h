// Which elements of an image those of a resized one are made of, along one axis.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_TAPS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_TAPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/resizing.h"
#include "runtime/kernels/axis_taps.h"
#include "runtime/kernels/placed_copy.h"

namespace fixpoint::executor {

struct ResizeMethod {
  enum class Kind { kNearest, kLinear, kCubic };
  Kind kind = Kind::kNearest;
  bool align_corners = false;
  bool is_half = false;  // kLinear: elements are where their centres are
};

// Of kNearest. Error (kInvalidArgument), here and below: an element is outside of the image.
absl::StatusOr<kernels::Places> NearestPlaces(const ResizeMethod& method, const ResizedAxis& axis);

// Of the others.
absl::StatusOr<kernels::AxisTaps> TapsOf(const ResizeMethod& method, const ResizedAxis& axis);

// Whether nothing is resized.
bool KeepsSizes(const std::vector<ResizedAxis>& axes);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_TAPS_H_
