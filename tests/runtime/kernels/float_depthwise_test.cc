// Depthwise convolutions of floats in our own loops give the bits of sums that go through a
// window's rows, and in each through its columns, each product added by fma.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/threads.h"
#include "runtime/random.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

std::vector<float> Drawn(int64_t size, uint32_t number) {
  const RandomStream random(1, number, 0);
  std::vector<float> drawn(size);
  for (int64_t i = 0; i < size; ++i) drawn[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  return drawn;
}

ConvolutionShape Depthwise(int64_t height, int64_t width, int64_t channels, const WindowAxis& rows,
                           const WindowAxis& columns) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.channels = shape.filters = shape.groups = channels;
  shape.height = height;
  shape.width = width;
  shape.window = {rows, columns};
  return shape;
}

const Epilogue kBatchNormAndRelu = {{EpilogueStage::Kind::kMultiplyChannel},
                                    {EpilogueStage::Kind::kAddChannel},
                                    {EpilogueStage::Kind::kRelu}};

std::vector<float> Expected(const ConvolutionShape& shape, const std::vector<float>& x,
                            const std::vector<float>& filters, EpilogueOperands operands) {
  std::vector<float> sums(shape.output_size());
  ForEachTap(shape, [&](int64_t out, int64_t from, int64_t tap) {
    sums[out] = std::fma(x[from], filters[tap], sums[out]);
  });
  Apply(kBatchNormAndRelu, operands, absl::MakeSpan(sums));
  return sums;
}

void ExpectTheBitsOfSumsInOrder(ConvolutionShape shape) {
  ASSERT_TRUE(CompleteShape(&shape).ok());
  SCOPED_TRACE(absl::StrCat(shape.height, "x", shape.width, "x", shape.channels, " by ",
                            shape.window[0].kernel, "x", shape.window[1].kernel, ", strides ",
                            shape.window[0].stride, " ", shape.window[1].stride, ", padding ",
                            shape.window[0].pad_before, " ", shape.window[0].pad_after));
  const ManyShapes many_shapes(true);
  const auto convolution = ConvolutionForward::Plan(shape, kBatchNormAndRelu);
  ASSERT_TRUE(convolution.ok()) << convolution.status();
  ASSERT_EQ((*convolution)->implementation(), "loops:avx512");
  const std::vector<float> x = Drawn(shape.input_size(), 1);
  const std::vector<float> filters = Drawn(shape.filter_size(), 2);
  const std::vector<float> factors = Drawn(shape.channels, 3);
  const std::vector<float> addends = Drawn(shape.channels, 4);
  const std::vector<absl::Span<const float>> operands = {factors, addends, {}};
  std::vector<float> y(shape.output_size(), -1);
  (*convolution)->Run(x, Packed<float>(**convolution, filters), operands, absl::MakeSpan(y));
  EXPECT_EQ(y, Expected(shape, x, filters, operands));
}

class FloatDepthwise : public testing::Test {
 protected:
  void SetUp() override {
    if (BestInstructionSet() != InstructionSet::kAvx512) GTEST_SKIP() << "needs AVX-512";
  }
};

TEST_F(FloatDepthwise, InTilesOfEveryWidthAndParity) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t padding : {0, 1, 2}) {
      const WindowAxis axis = {3, stride, 1, padding, padding};
      for (int64_t size = 3; size <= 12; ++size) {
        ExpectTheBitsOfSumsInOrder(Depthwise(size, 15 - size, 20, axis, axis));
      }
      ExpectTheBitsOfSumsInOrder(Depthwise(5, 61, 16, axis, axis));
    }
  }
}

TEST_F(FloatDepthwise, OfChannelsThatFillNoVector) {
  const WindowAxis axis = {3, 1, 1, 1, 1};
  for (const int64_t channels : {2, 15, 16, 17, 33}) {
    ExpectTheBitsOfSumsInOrder(Depthwise(6, 7, channels, axis, axis));
  }
}

TEST_F(FloatDepthwise, OfOtherWindows) {
  ExpectTheBitsOfSumsInOrder(Depthwise(9, 11, 20, {3, 1, 1, 1, 0}, {3, 1, 1, 0, 1}));
  ExpectTheBitsOfSumsInOrder(Depthwise(9, 30, 20, {5, 1, 1, 2, 2}, {5, 1, 1, 2, 2}));
  ExpectTheBitsOfSumsInOrder(Depthwise(9, 11, 20, {3, 1, 2, 2, 2}, {3, 1, 2, 2, 2}));
  ExpectTheBitsOfSumsInOrder(Depthwise(9, 11, 20, {3, 2, 1, 1, 1}, {3, 1, 1, 1, 1}));
  ExpectTheBitsOfSumsInOrder(Depthwise(1, 1, 20, {3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}));
}

TEST_F(FloatDepthwise, InTilesIsPlannedForOneShapeToo) {
  for (const int64_t stride : {1, 2}) {
    const WindowAxis axis = {3, stride, 1, 1, 1};
    const auto convolution = ConvolutionForward::Plan(Depthwise(14, 14, 64, axis, axis));
    ASSERT_TRUE(convolution.ok()) << convolution.status();
    EXPECT_EQ((*convolution)->implementation(), "loops:avx512");
  }
}

TEST_F(FloatDepthwise, OnThreads) {
  const WindowAxis axis = {3, 1, 1, 1, 1};
  for (const int threads : {2, 3}) {
    const ThreadsInUse in_use(threads);
    ExpectTheBitsOfSumsInOrder(Depthwise(7, 9, 20, axis, axis));
  }
}

}  // namespace
}  // namespace fixpoint::kernels
