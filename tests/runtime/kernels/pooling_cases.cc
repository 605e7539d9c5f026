#include "tests/runtime/kernels/pooling_cases.h"

#include <algorithm>

namespace fixpoint::kernels {
namespace {

const WindowAxis kTwo = {2, 2, 1, 0, 0};
const WindowAxis kThree = {3, 2, 1, 1, 1};

}  // namespace

std::vector<PoolingCase> PoolingCases() {
  return {
      {"TwoByTwo", 6, 8, 8, {kTwo, kTwo}},
      {"TwoByTwoOfOneChannel", 1, 4, 10, {kTwo, kTwo}},
      {"TwoByTwoOfTwoChannels", 2, 4, 8, {kTwo, kTwo}},
      {"OneByOneOfThreeChannels", 3, 4, 9, {{kTwo, {1, 1, 1, 0, 0}}}},
      {"ThreeByThree", 64, 9, 9, {kThree, kThree}},
      {"TwoByThree", 20, 6, 9, {{kTwo, {3, 3, 1, 0, 0}}}},
      {"Overlapping", 20, 7, 5, {{{3, 1, 1, 1, 1}, {2, 1, 1, 0, 1}}}},
      {"PaddedOnOneSide", 5, 6, 7, {{{3, 2, 1, 0, 1}, {3, 2, 1, 1, 0}}}},
      {"Ceil", 17, 6, 8, {{{3, 2, 1, 0, 0}, {3, 3, 1, 1, 1}}}, true},
      {"Gaps", 3, 7, 9, {{{2, 4, 1, 1, 0}, {1, 3, 1, 0, 0}}}, true},
      {"WindowsInPaddingAlone", 4, 3, 3, {{{2, 2, 1, 2, 3}, {1, 1, 1, 1, 1}}}},
      {"Global", 33, 7, 6, {}, false, true, 1, 1},
      {"GlobalOfOne", 1, 1, 1, {}, false, true, 1, 1},
      {"AdaptiveUnequal", 10, 7, 5, {}, false, true, 3, 4},
      {"AdaptiveLarger", 2, 3, 2, {}, false, true, 5, 2},
  };
}

std::vector<PoolingVariant> AverageVariants() {
  return {
      {"AverageOfImage", PoolingType::kAverage, PoolingDivisor::kImage},
      {"AverageWithPadding", PoolingType::kAverage, PoolingDivisor::kPaddedImage},
      {"AverageOfWindow", PoolingType::kAverage, PoolingDivisor::kWindow},
  };
}

std::vector<PoolingVariant> PoolingVariants() {
  std::vector<PoolingVariant> variants = AverageVariants();
  variants.push_back({"Max", PoolingType::kMax, PoolingDivisor::kImage});
  return variants;
}

PoolingShape ShapeOf(const PoolingCase& c, const PoolingVariant& variant) {
  PoolingShape shape;
  shape.batch = 2;
  shape.channels = c.channels;
  shape.height = c.height;
  shape.width = c.width;
  shape.type = variant.type;
  shape.divisor = variant.divisor;
  shape.window = c.window;
  shape.ceil_mode = c.ceil_mode;
  shape.adaptive = c.adaptive;
  shape.out_height = c.out_height;
  shape.out_width = c.out_width;
  return shape;
}

PoolingRange RangeOf(const PoolingShape& shape, int axis, int64_t i) {
  const int64_t size = axis == 0 ? shape.height : shape.width;
  const int64_t count = axis == 0 ? shape.out_height : shape.out_width;
  if (shape.adaptive) {
    const int64_t begin = i * size / count;
    const int64_t end = ((i + 1) * size + count - 1) / count;
    return {begin, end, end - begin};
  }
  const WindowAxis& window = shape.window[axis];
  const int64_t start = i * window.stride - window.pad_before;
  PoolingRange range = {std::max<int64_t>(start, 0), std::min(start + window.kernel, size), 0};
  switch (shape.divisor) {
    case PoolingDivisor::kImage:
      range.divisor = range.end - range.begin;
      break;
    case PoolingDivisor::kPaddedImage:
      range.divisor = std::min(start + window.kernel, size + window.pad_after) - start;
      break;
    case PoolingDivisor::kWindow:
      range.divisor = window.kernel;
      break;
  }
  return range;
}

}  // namespace fixpoint::kernels
