// Weighted sums of elements along an axis: resized images, and the gradients of what copies
// elements by place (placed_copy.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_AXIS_TAPS_H_
#define FIXPOINT_RUNTIME_KERNELS_AXIS_TAPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// For each element of a result the places that it is a sum of.
struct AxisTaps {
  std::vector<int64_t> begins = {0};  // of each element, and one for the end
  std::vector<int32_t> places;
  std::vector<float> weights;

  int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  // Ends an element.
  void End() { begins.push_back(static_cast<int64_t>(places.size())); }
};

// The sums that give the gradient with respect to an input of that size.
AxisTaps Transposed(const AxisTaps& taps, int64_t size);

// y [outer, taps.size(), inner] = sums of x, which is seen as `lines`. More than four terms are
// added in double. REQUIRES: the sizes fit, and the places are on the lines.
void SumTaps(const AxisTaps& taps, const Lines& lines, absl::Span<const float> x,
             absl::Span<float> y);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_AXIS_TAPS_H_
