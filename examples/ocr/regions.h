// The regions of a bitmap, by their borders.

#ifndef FIXPOINT_EXAMPLES_OCR_REGIONS_H_
#define FIXPOINT_EXAMPLES_OCR_REGIONS_H_

#include <cstdint>
#include <vector>

#include "examples/ocr/geometry.h"

namespace fixpoint {
namespace ocr {

// For each region of set pixels that touch, also at corners, those of them that touch the outside
// or a hole; and for each hole, the set pixels beside it. In the order in which rows have their
// first pixel. REQUIRES: as many bits as height * width.
std::vector<std::vector<Point>> FindRegions(const std::vector<bool>& bits, int64_t height,
                                            int64_t width);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_REGIONS_H_
