// Images sampled between their elements.

#include <string>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

void GridSampler(CaseMaker& c) {
  const Dims x = {c.Between(1, 2), c.Between(1, 3), c.Between(1, 7), c.Between(1, 7)};
  const Dims grid = {x[0], c.Between(1, 6), c.Between(1, 6), 2};
  const std::string image = c.Numbers(x);
  const bool is_nearest = c.is_2x() && c.OneIn(4);
  std::string attributes;
  if (c.is_2x()) {
    attributes =
        absl::StrCat(" {mode=\"", is_nearest ? "nearest" : "bilinear", "\", padding_mode=\"",
                     c.OneOf<std::string>({"zeros", "border", "reflection"}),
                     "\", align_corners=", BoolText(c.OneIn(2)), "}");
  }
  const float far = c.OneIn(3) ? 4.0f : 1.2f;
  c.Op("grid_sampler(X=", image, ", Grid=", c.Numbers(grid, -far, far), ") -> (Output=out)",
       attributes);
  c.Sums(4 * (SizeOf(grid) + x[1]));
  if (is_nearest) c.Move({image});
}

Generator DeformableConv(bool has_mask) {
  return [has_mask](CaseMaker& c) {
    const int groups = c.Between(1, 2);
    const int offset_groups = c.Between(1, 2);
    const int64_t channels = groups * offset_groups * c.Between(1, 2);
    const int kernel_height = c.Between(1, 3);
    const int kernel_width = c.Between(1, 3);
    const Dims x = {c.Between(1, 2), channels, c.Between(3, 7), c.Between(3, 7)};
    const Dims filter = {groups * c.Between(1, 3), channels / groups, kernel_height, kernel_width};
    const int stride = c.Between(1, 2);
    const int padding = c.Between(0, 2);
    const int64_t height = (x[2] + 2 * padding - kernel_height) / stride + 1;
    const int64_t width = (x[3] + 2 * padding - kernel_width) / stride + 1;
    const int64_t taps = static_cast<int64_t>(offset_groups) * kernel_height * kernel_width;
    const std::string input = c.Numbers(x);
    const std::string weights = c.Numbers(filter);
    const std::string offset = c.Numbers({x[0], 2 * taps, height, width}, -2, 2);
    const std::string mask =
        has_mask ? absl::StrCat(", Mask=", c.Numbers({x[0], taps, height, width}, 0, 1)) : "";
    c.Op(has_mask ? "deformable_conv" : "deformable_conv_v1", "(Input=", input, ", Offset=", offset,
         ", Filter=", weights, mask, ") -> (Output=out) {strides=", ListText(Dims{stride, stride}),
         ", paddings=", ListText(Dims{padding, padding}), ", groups=", groups,
         ", deformable_groups=", offset_groups, "}");
    c.Sums(4 * (filter[1] * taps + height * width * x[0] * filter[0]));
  };
}

}  // namespace

Generators SamplingGenerators() {
  return {{"grid_sampler", GridSampler},
          {"deformable_conv", DeformableConv(true)},
          {"deformable_conv_v1", DeformableConv(false)}};
}

}  // namespace fixpoint::random_cases
