// Resizing of images.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// Images with that many spatial axes, and the sizes or scales that they are resized to.
struct SomeResize {
  Dims input;
  std::string attributes;
  int64_t taps = 1;  // of the input element that most output elements are made of
};

SomeResize DrawResize(CaseMaker& c, int axes, bool is_v2) {
  SomeResize drawn;
  const bool is_channels_last = c.OneIn(3);
  drawn.input.push_back(c.Between(1, 3));
  if (!is_channels_last) drawn.input.push_back(c.Between(1, 20));
  for (int i = 0; i < axes; ++i) drawn.input.push_back(c.Between(1, 9));
  if (is_channels_last) drawn.input.push_back(c.Between(1, 20));
  drawn.attributes =
      absl::StrCat("align_corners=", BoolText(c.OneIn(2)), ", align_mode=", c.Between(0, 1),
                   ", data_layout=\"", is_channels_last ? "NHWC" : "NCHW", "\"");
  const bool has_scale = c.OneIn(3);
  constexpr const char* kSizes[] = {"out_w", "out_h", "out_d"};
  if (has_scale) {
    // No size becomes 0.
    std::vector<float> scales;
    for (int i = 0; i < (is_v2 ? axes : 1); ++i)
      scales.push_back(c.OneOf({1.0f, 1.7f, 2.0f, 3.5f}));
    absl::StrAppend(&drawn.attributes,
                    ", scale=", is_v2 ? FloatsText(scales) : FloatText(scales[0]));
  }
  for (int i = 0; i < axes && !has_scale; ++i) {
    absl::StrAppend(&drawn.attributes, ", ", kSizes[i], "=", c.Between(1, 14));
  }
  for (int i = 0; i < axes; ++i) drawn.taps *= 4 * 32;
  return drawn;
}

Generator Nearest(bool is_v2) {
  return [is_v2](CaseMaker& c) {
    const SomeResize drawn = DrawResize(c, c.Between(2, 3), is_v2);
    c.Op("nearest_interp", is_v2 ? "_v2" : "", "(X=", c.Numbers(drawn.input), ") -> (Out=out) {",
         drawn.attributes, "}");
    c.Sums(drawn.taps);
  };
}

Generator Between(const std::string& method, int axes, bool is_v2) {
  return [=](CaseMaker& c) {
    const SomeResize drawn = DrawResize(c, axes, is_v2);
    c.Op(method, "_interp", is_v2 ? "_v2" : "", "(X=", c.Numbers(drawn.input), ") -> (Out=out) {",
         drawn.attributes, "}");
    c.Sums(drawn.taps);
  };
}

}  // namespace

Generators InterpolationGenerators() {
  Generators generators;
  for (const bool is_v2 : {false, true}) {
    const auto add = [&](const char* method, const Generator& generator) {
      generators.push_back({absl::StrCat(method, "_interp", is_v2 ? "_v2" : ""), generator});
    };
    add("nearest", Nearest(is_v2));
    add("linear", Between("linear", 1, is_v2));
    add("bilinear", Between("bilinear", 2, is_v2));
    add("trilinear", Between("trilinear", 3, is_v2));
    add("bicubic", Between("bicubic", 2, is_v2));
  }
  return generators;
}

}  // namespace fixpoint::random_cases
