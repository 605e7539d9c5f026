#include "tests/random/generators/some_boxes.h"

#include <cmath>
#include <utility>
#include <vector>

namespace fixpoint::random_cases {

std::string SomeBoxes(CaseMaker& c, Dims dims, float size, bool may_be_unordered) {
  dims.push_back(4);
  std::vector<float> corners(SizeOf(dims));
  const bool has_whole_numbers = c.OneIn(3);
  for (size_t i = 0; i < corners.size(); i += 4) {
    for (size_t k = 0; k < 4; ++k) {
      const float drawn = c.Between(0.0f, size);
      corners[i + k] = has_whole_numbers ? std::floor(drawn) : drawn;
    }
    if (may_be_unordered && c.OneIn(8)) continue;
    if (corners[i] > corners[i + 2]) std::swap(corners[i], corners[i + 2]);
    if (corners[i + 1] > corners[i + 3]) std::swap(corners[i + 1], corners[i + 3]);
  }
  return c.Floats(dims, corners);
}

std::string Limits(CaseMaker& c, int classes) {
  return absl::StrCat("background_label=", c.OneIn(2) ? -1 : c.Between(0, classes - 1),
                      ", score_threshold=", FloatText(c.Between(-0.1f, 0.9f)),
                      ", nms_top_k=", c.OneIn(2) ? -1 : c.Between(0, 8),
                      ", keep_top_k=", c.OneIn(2) ? -1 : c.Between(0, 8),
                      ", normalized=", BoolText(c.OneIn(2)));
}

std::string Overlaps(CaseMaker& c) {
  return absl::StrCat(", nms_threshold=", FloatText(c.Between(0.1f, 0.9f)),
                      ", nms_eta=", FloatText(c.OneIn(2) ? 1.0f : c.Between(0.5f, 1.0f)));
}

}  // namespace fixpoint::random_cases
