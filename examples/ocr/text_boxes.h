// From the map of a detection network to boxes around text: differentiable binarization's steps as
// PP-OCR takes them (Liao et al., "Real-time scene text detection with differentiable
// binarization", 2020).

#ifndef FIXPOINT_EXAMPLES_OCR_TEXT_BOXES_H_
#define FIXPOINT_EXAMPLES_OCR_TEXT_BOXES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "examples/ocr/geometry.h"

namespace fixpoint {
namespace ocr {

struct BoxOptions {
  float least_probability = 0.3f;  // of a pixel that is text
  double least_score = 0.6;        // the mean probability in a region's box
  double growth = 1.5;             // how far a box grows: this times its area by its perimeter
  int64_t most_regions = 1000;
};

// The probability of each pixel to be in the middle of a line of text.
struct ProbabilityMap {
  int64_t height = 0;
  int64_t width = 0;
  absl::Span<const float> values;  // [height,width]
};

// Boxes in an image of that size, whose corners are integers inside of it: for each region of
// pixels that may be text, the smallest rectangle around it, grown. They are in the order in which
// one reads them: from top to bottom, and those that begin at nearly one height from left to right.
// Regions that are small or unlikely have none.
std::vector<Corners> FindTextBoxes(const ProbabilityMap& map, int64_t image_height,
                                   int64_t image_width, const BoxOptions& options = {});

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_TEXT_BOXES_H_
