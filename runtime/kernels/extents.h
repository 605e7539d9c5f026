// The extents and windows that a kernel is planned for.

#ifndef FIXPOINT_RUNTIME_KERNELS_EXTENTS_H_
#define FIXPOINT_RUNTIME_KERNELS_EXTENTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/window.h"

namespace fixpoint::kernels {

// How many parts of at most `most` an extent has.
inline int64_t CeilDivide(int64_t extent, int64_t most) { return (extent + most - 1) / most; }

// Error (kInvalidArgument): an extent of a tensor is below 1 or above 2^31 - 1, which is as far as
// oneDNN counts, or it has 2^61 elements or more: an int64 does not hold their bytes as floats.
absl::Status CheckExtents(absl::string_view what, DimsView dims);

// Error (kInvalidArgument): a kernel, stride or dilation is below 1, a padding below 0, or one of
// them above 2^31 - 1.
absl::Status CheckWindow(const Window& window);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EXTENTS_H_
