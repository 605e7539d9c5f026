// Rendered images in color, in the form of CIFAR-10.

#ifndef FIXPOINT_RUNTIME_DATA_COLOR_DIGITS_H_
#define FIXPOINT_RUNTIME_DATA_COLOR_DIGITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

// `count` images [count,3,32,32]: those of RenderDigits with a margin of 2 pixels, drawn with light
// ink on dark paper, in colors that depend on the seed and the image: each channel of the paper is
// below 128, and that of the ink 96 to 127 above it. Errors: those of RenderDigits.
absl::StatusOr<ImageSet> RenderColorDigits(int64_t count, uint64_t seed);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_COLOR_DIGITS_H_
