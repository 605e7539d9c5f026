// What the three networks are fed, as PP-OCR makes it of an image.

#ifndef FIXPOINT_EXAMPLES_OCR_NETWORK_INPUTS_H_
#define FIXPOINT_EXAMPLES_OCR_NETWORK_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "examples/ocr/image.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace ocr {

// [1,3,H,W] for detection: the image with sides of at most `longest_side`, rounded to multiples of
// 32, its colors normalised with the mean and deviation of ImageNet's. Error (kFailedPrecondition):
// there is no memory.
absl::StatusOr<Tensor> DetectionInput(const Image& image, int64_t longest_side);

// How wide a line is in an input of that height: as its own proportions say, and at most `width`.
int64_t WidthInInput(const Image& line, int64_t height, int64_t width);

// [N,3,height,width] for direction and recognition: lines in that height from the left, of colors
// from -1 to 1, and zeros beside them. Error (kFailedPrecondition): there is no memory.
absl::StatusOr<Tensor> LinesInput(absl::Span<const Image* const> lines, int64_t height,
                                  int64_t width);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_NETWORK_INPUTS_H_
