// A line of text, cut out of its image and laid straight.

#ifndef FIXPOINT_EXAMPLES_OCR_CROP_H_
#define FIXPOINT_EXAMPLES_OCR_CROP_H_

#include <optional>

#include "examples/ocr/geometry.h"
#include "examples/ocr/image.h"

namespace fixpoint {
namespace ocr {

// What lies in a box, mapped by the perspective that takes its corners to those of an upright
// image, with Keys' cubic interpolation (factor -0.75) of places in 32nds of a pixel, as OpenCV has
// it; what is beyond the image is as its edge. As wide and high as the longer of the box's opposite
// sides; if it is at least one and a half times as high as wide, turned by 90 degrees. None if the
// corners are not those of a box.
std::optional<Image> Cropped(const Image& image, const Corners& box);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_CROP_H_
