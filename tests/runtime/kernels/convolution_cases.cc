#include "tests/runtime/kernels/convolution_cases.h"

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/machine.h"

namespace fixpoint::kernels {
namespace {

// Kernel, stride, dilation, padding before and after.
constexpr WindowAxis kOne = {1, 1, 1, 0, 0};
constexpr WindowAxis kThree = {3, 1, 1, 1, 1};
constexpr WindowAxis kThreeByTwo = {3, 2, 1, 1, 1};

ConvolutionShape Shape(int64_t channels, int64_t filters, int64_t groups, int64_t size,
                       const WindowAxis& rows, const WindowAxis& columns) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.channels = channels;
  shape.height = shape.width = size;
  shape.filters = filters;
  shape.groups = groups;
  shape.window = {rows, columns};
  CHECK(CompleteShape(&shape).ok());
  return shape;
}

// With as many channels as it takes for the images, and the output as numbers, to be out of cache.
ConvolutionShape DepthwiseOutOfCache(int64_t size, const WindowAxis& axis) {
  int64_t channels = 100;
  while (true) {
    const ConvolutionShape shape = Shape(channels, channels, channels, size, axis, axis);
    if (ThisMachine().IsOutOfCache(shape.input_size() + 4 * shape.output_size())) return shape;
    channels += 100;
  }
}

std::vector<ConvolutionCase> IntegerConvolutionCases() {
  std::vector<ConvolutionCase> cases = ConvolutionCases();
  for (const ConvolutionCase& test : TiledConvolutionCases()) cases.push_back(test);
  return cases;
}

bool IsLarge(const ConvolutionCase& test) {
  return absl::StrContains(test.name, "Large") || absl::StrContains(test.name, "Chunks");
}

}  // namespace

bool IsSlow(const std::string& implementation) {
  return absl::StrContains(implementation, "ref") || absl::StrContains(implementation, "simple") ||
         (absl::StrContains(implementation, "gemm") &&
          BestInstructionSet() == InstructionSet::kAvx512);
}

std::vector<ConvolutionCase> ConvolutionCases() {
  return {
      {"Pointwise", Shape(16, 24, 1, 7, kOne, kOne)},
      {"PointwiseStridedFewChannels", Shape(4, 4, 1, 12, {1, 2, 1, 0, 0}, {1, 2, 1, 0, 0})},
      {"PointwiseStridedOddChannels", Shape(6, 8, 1, 14, kOne, {1, 2, 1, 0, 0})},
      {"Padded", Shape(3, 16, 1, 9, kThree, kThree)},
      {"Strided", Shape(16, 32, 1, 9, kThreeByTwo, kThreeByTwo)},
      {"Dilated", Shape(8, 8, 1, 11, {3, 1, 2, 2, 2}, {3, 1, 2, 2, 2})},
      {"PaddedOnOneSide", Shape(4, 8, 1, 8, {2, 1, 1, 0, 1}, {3, 2, 1, 0, 1})},
      {"Grouped", Shape(8, 12, 4, 6, kThree, kThree)},
      {"Depthwise", Shape(20, 20, 20, 10, kThreeByTwo, kThreeByTwo)},
      {"DepthwiseOddSizes", Shape(83, 83, 83, 13, kThree, kThree)},
      {"DepthwiseFiveByFive", Shape(24, 24, 24, 12, {5, 1, 1, 2, 2}, {5, 1, 1, 2, 2})},
      {"DepthwiseOnOneSide", Shape(16, 16, 16, 10, {2, 1, 1, 1, 0}, {2, 1, 1, 0, 1})},
      {"DepthwiseDilated", Shape(20, 20, 20, 14, {3, 1, 2, 2, 2}, {3, 1, 2, 2, 2})},
      {"DepthwisePointwise", Shape(17, 17, 17, 9, kOne, kOne)},
      {"DepthwiseLarge", DepthwiseOutOfCache(7, kThree)},
      {"DepthwiseLargeStrided", DepthwiseOutOfCache(33, kThreeByTwo)},
      {"OneChannel", Shape(1, 6, 1, 13, {5, 1, 1, 0, 0}, {5, 1, 1, 0, 0})},
      {"OneChannelStrided", Shape(1, 19, 1, 29, {3, 2, 1, 1, 2}, {7, 2, 1, 3, 2})},
      {"OneChannelOneFilter", Shape(1, 1, 1, 19, {5, 1, 1, 2, 2}, {5, 1, 1, 2, 2})},
      {"OneChannelEightFilters", Shape(1, 8, 1, 15, kThree, kThreeByTwo)},
      {"OneChannelNineFilters", Shape(1, 9, 1, 23, kOne, {5, 1, 1, 0, 4})},
      {"OneChannelSixteenFilters", Shape(1, 16, 1, 17, {5, 3, 1, 0, 0}, {5, 3, 1, 1, 0})},
      {"OneChannelTwentyFilters", Shape(1, 20, 1, 21, {5, 1, 1, 2, 1}, {5, 1, 1, 1, 2})},
      {"OneChannelDilated", Shape(1, 3, 1, 18, {3, 1, 2, 2, 2}, {4, 1, 3, 4, 3})},
      // More windows than are unfolded at once.
      {"OneChannelLarge", Shape(1, 6, 1, 67, {7, 1, 1, 3, 3}, {7, 1, 1, 3, 3})},
      // Filters that fill no vector, with pixels for tiles.
      {"PartVectors", Shape(16, 24, 1, 8, kOne, kOne)},
      {"PartVectorsPadded", Shape(3, 44, 1, 16, kThree, kThree)},
      {"OddSizes", Shape(5, 7, 1, 5, {5, 1, 1, 2, 2}, kOne)},
      // More than floats add exactly, if all codes are the largest.
      {"ManyTaps", Shape(80, 6, 1, 4, kThree, kThree)},
  };
}

std::vector<ConvolutionCase> StickingOutConvolutionCases() {
  const WindowAxis columns = {5, 3, 2, 1, 1};
  return {{"OneWindow", Shape(3, 20, 1, 6, kThree, columns)},
          {"DepthwiseOneWindow", Shape(20, 20, 20, 6, kThree, columns)},
          {"OneChannelOneWindow", Shape(1, 6, 1, 6, columns, columns)}};
}

std::vector<ConvolutionCase> ConvolutionsInParts() {
  const auto batch_of = [](int64_t batch, ConvolutionShape shape) {
    shape.batch = batch;
    return shape;
  };
  return {
      {"Images", batch_of(16, Shape(16, 16, 1, 16, kThree, kThree))},
      {"UnequalImages", batch_of(11, Shape(12, 20, 1, 16, kThreeByTwo, kThreeByTwo))},
      {"ImagesOfGroups", batch_of(9, Shape(24, 24, 4, 20, kThree, kThree))},
      {"ImagesOfDepthwise", batch_of(9, Shape(64, 64, 64, 32, kThree, kThree))},
      {"PointwiseImages", batch_of(8, Shape(32, 24, 1, 24, kOne, kOne))},
      {"Rows", batch_of(1, Shape(16, 16, 1, 32, kThree, kThree))},
      {"RowsOfTwoImages", batch_of(2, Shape(10, 20, 1, 41, kThreeByTwo, kThree))},
      {"RowsOfDepthwise", batch_of(1, Shape(40, 40, 40, 48, kThree, kThree))},
      {"RowsWithGaps", batch_of(1, Shape(8, 16, 1, 45, {3, 1, 3, 5, 4}, {5, 1, 1, 2, 2}))},
      {"Filters", batch_of(1, Shape(64, 64, 1, 8, kThree, kThree))},
      {"PointwiseFilters", batch_of(3, Shape(256, 256, 1, 6, kOne, kOne))},
      {"ManyFilters", batch_of(2, Shape(128, 256, 1, 9, kThreeByTwo, kThreeByTwo))},
  };
}

std::vector<ConvolutionCase> ColumnInPaddingConvolutionCases() {
  const WindowAxis five_by_two = {5, 2, 1, 2, 2};
  const WindowAxis three_by_three = {3, 3, 1, 1, 1};
  const WindowAxis two_dilated = {2, 2, 2, 1, 1};
  return {{"FirstAndLast", Shape(16, 32, 1, 1, kThreeByTwo, kThreeByTwo)},
          {"AllButTheMiddle", Shape(16, 32, 1, 1, five_by_two, five_by_two)},
          {"First", Shape(16, 32, 1, 2, three_by_three, three_by_three)},
          {"FirstOfDilated", Shape(16, 32, 1, 2, two_dilated, two_dilated)},
          {"Depthwise", Shape(32, 32, 32, 1, five_by_two, five_by_two)}};
}

std::vector<ConvolutionCase> SmallIntegerConvolutionCases() {
  std::vector<ConvolutionCase> cases;
  for (const ConvolutionCase& test : IntegerConvolutionCases()) {
    if (!IsLarge(test)) cases.push_back(test);
  }
  return cases;
}

std::vector<ConvolutionCase> LargeIntegerConvolutionCases() {
  std::vector<ConvolutionCase> cases;
  for (const ConvolutionCase& test : IntegerConvolutionCases()) {
    if (IsLarge(test)) cases.push_back(test);
  }
  return cases;
}

std::vector<ConvolutionCase> TiledConvolutionCases() {
  return {
      {"Tiled", Shape(32, 64, 1, 7, kThree, kThree)},
      {"TiledStrided", Shape(36, 32, 1, 14, kThreeByTwo, kThreeByTwo)},
      {"TiledDilated", Shape(34, 32, 1, 14, {3, 1, 2, 2, 2}, {2, 1, 2, 1, 1})},
      {"TiledOnOneSide", Shape(42, 32, 1, 7, {2, 1, 1, 0, 1}, {3, 1, 1, 2, 0})},
      {"TiledFewChannels", Shape(3, 32, 1, 13, {7, 2, 1, 3, 3}, {7, 2, 1, 3, 3})},
      // Rows whose pixels are not multiples of those of a tile.
      {"TiledPointwise", Shape(64, 96, 1, 9, kOne, kOne)},
      {"TiledPointwiseOddSize", Shape(145, 32, 1, 9, kOne, kOne)},
      {"TiledFewTaps", Shape(16, 32, 1, 7, kOne, kOne)},
      // Padded lines of many chunks, and weights that are fetched ahead.
      {"TiledChunks", Shape(512, 32, 1, 28, kThree, kThree)},
      {"TiledChunksOfColumns", Shape(1024, 64, 1, 24, kThreeByTwo, kOne)},
      {"TiledEights", Shape(16, 32, 1, 8, kThree, kThree)},
      {"TiledEightsStrided", Shape(9, 64, 1, 32, kThreeByTwo, kThreeByTwo)},
      {"TiledSixteenFilters", Shape(16, 16, 1, 24, kThree, kThree)},
      {"TiledSixteenFiltersOddHeight", Shape(16, 16, 1, 8, {2, 1, 1, 0, 0}, kThree)},
      {"TiledSixteenFiltersPointwise", Shape(64, 48, 1, 9, kOne, kOne)},
      // Weights that are fetched ahead, and more rows than are read at once.
      {"TiledLarge", Shape(4128, 32, 1, 13, {1, 2, 1, 0, 0}, {1, 2, 1, 0, 0})},
  };
}

}  // namespace fixpoint::kernels
