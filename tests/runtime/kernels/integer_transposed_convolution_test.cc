// The sums of transposed convolutions of codes against plain loops in 64 bits.

#include "runtime/kernels/integer_transposed_convolution.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "ops/window.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"
#include "tests/runtime/kernels/coding_cases.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

// Codes that look random, or all as large as they can be.
enum class Codes { kMixed, kLargest };

class ExactTransposedConvolution
    : public testing::TestWithParam<std::tuple<ConvolutionCase, CodingCase, Codes>> {
 protected:
  void SetUp() override {
    const Codes codes = std::get<2>(GetParam());
    uint32_t state = 12345;
    const auto next = [&state, codes](uint8_t largest) {
      state = state * 1664525u + 1013904223u;
      return codes == Codes::kLargest ? largest : static_cast<uint8_t>(state >> 24);
    };
    constexpr auto kSmallest = static_cast<uint8_t>(-128);
    inputs_.resize(shape_.output_size());
    for (uint8_t& code : inputs_) code = next(static_cast<uint8_t>(coding_.farthest));
    filters_.resize(shape_.filter_size());
    for (int8_t& code : filters_) code = static_cast<int8_t>(next(kSmallest));
    scales_.resize(shape_.channels);
    for (size_t c = 0; c < scales_.size(); ++c) scales_[c] = 0.001f * static_cast<float>(c + 1);
    std::vector<int64_t> sums(shape_.input_size(), 0);
    ForEachTap(shape_, [&](int64_t input, int64_t out, int64_t tap) {
      sums[out] += int64_t{coding_.NumberOf(inputs_[input])} * filters_[tap];
    });
    for (size_t i = 0; i < sums.size(); ++i) {
      expected_.push_back(static_cast<float>(sums[i]) * scales_[i % scales_.size()]);
    }
  }

  const ConvolutionShape shape_ = std::get<0>(GetParam()).shape;
  const CodingCase coding_ = std::get<1>(GetParam());
  std::vector<uint8_t> inputs_;
  std::vector<int8_t> filters_;
  std::vector<float> scales_;
  std::vector<float> expected_;
};

TEST_P(ExactTransposedConvolution, GivesTheSumsOfPlainLoops) {
  const auto planned = PlanIntegerTransposedConvolution(shape_, coding_.coding);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::string implementation = (*planned)->implementation();
  EXPECT_FALSE(absl::StrContains(implementation, "ref")) << implementation;
  std::vector<float> y(expected_.size());
  for (int step = 0; step < 2; ++step) {
    (*planned)->Run({inputs_, Packed(**planned, filters_), scales_, coding_.zero_point},
                    absl::MakeSpan(y));
    ASSERT_EQ(y, expected_);
  }
}

// Elements and codes that are added are gathered where the output's lie apart.
TEST_P(ExactTransposedConvolution, StoresCodesAfterAnEpilogue) {
  using Kind = EpilogueStage::Kind;
  const Epilogue epilogue = {
      {Kind::kAddChannel}, {Kind::kAddElement}, {Kind::kAddInt8, 0.5f, 3}, {Kind::kMultiply, 0.7f}};
  const auto planned =
      PlanIntegerTransposedConvolution(shape_, coding_.coding, epilogue, OutputType::kInt8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> bias(shape_.channels);
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = std::sin(static_cast<float>(c));
  std::vector<float> added(expected_.size());
  std::vector<int8_t> codes(expected_.size());
  std::vector<int8_t> y(expected_.size());
  for (size_t i = 0; i < y.size(); ++i) {
    added[i] = 30 * std::sin(static_cast<float>(i));
    codes[i] = static_cast<int8_t>(i * 37);
    const float sum = expected_[i] + bias[i % bias.size()] + added[i];
    const float x = std::fma(static_cast<float>(codes[i]) - 3, 0.5f, sum) * 0.7f;
    y[i] = static_cast<int8_t>(std::nearbyint(std::min(std::max(x, -128.0f), 127.0f)));
  }
  const absl::Span<const float> operands[] = {bias, added, {}, {}};
  (*planned)->Run({inputs_, Packed(**planned, filters_), scales_, coding_.zero_point, operands},
                  absl::MakeSpan(codes));
  EXPECT_EQ(codes, y);
}

// A transposed convolution from 8 channels to `channels`, with outputs of [size, size].
ConvolutionCase Transposed(std::string name, int64_t size, const WindowAxis& rows,
                           const WindowAxis& columns, int64_t channels = 8, int64_t groups = 1) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.channels = channels;
  shape.height = shape.width = size;
  shape.filters = 8;
  shape.groups = groups;
  shape.window = {rows, columns};
  CHECK(CompleteShape(&shape).ok());
  return {std::move(name), shape};
}

// The cases that fit in a cache, and outputs whose elements do not all have the same taps: kernel,
// stride, dilation, paddings.
std::vector<ConvolutionCase> Cases() {
  std::vector<ConvolutionCase> cases = ConvolutionCases();
  cases.push_back(Transposed("Doubling", 8, {2, 2, 1, 0, 0}, {2, 2, 1, 0, 0}));
  cases.push_back(Transposed("DoublingToOddSizes", 9, {2, 2, 1, 0, 0}, {2, 2, 1, 0, 0}));
  cases.push_back(Transposed("DoublingWithThree", 10, {3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}, 16));
  cases.push_back(Transposed("DoublingWithFour", 9, {4, 2, 1, 1, 1}, {4, 2, 1, 1, 1}, 3));
  cases.push_back(Transposed("Tripling", 11, {3, 3, 1, 0, 0}, {3, 3, 1, 0, 0}));
  cases.push_back(Transposed("ToTiles", 32, {4, 2, 1, 1, 1}, {4, 2, 1, 1, 1}, 32));
  cases.push_back(Transposed("StrideAboveFilter", 10, {2, 3, 1, 0, 0}, {1, 2, 1, 0, 0}));
  cases.push_back(Transposed("DilationByStride", 13, {3, 2, 2, 0, 0}, {3, 2, 3, 2, 1}));
  cases.push_back(Transposed("PaddedMoreThanTheFilter", 5, {1, 1, 1, 3, 2}, {2, 2, 1, 3, 4}));
  cases.push_back(Transposed("Few", 2, {2, 2, 1, 1, 1}, {1, 1, 1, 0, 0}, 1));
  cases.push_back(Transposed("GroupedDoubling", 9, {4, 2, 1, 1, 1}, {2, 2, 1, 0, 0}, 12, 4));
  cases.push_back(Transposed("DepthwiseDoubling", 9, {4, 2, 1, 1, 1}, {4, 2, 1, 1, 1}, 8, 8));
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [](const ConvolutionCase& test) {
                               return absl::StrContains(test.name, "Large");
                             }),
              cases.end());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactTransposedConvolution,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::ValuesIn(CodingCases()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name +
                                  (std::get<2>(info.param) == Codes::kMixed ? "Mixed" : "Largest");
                         });

TEST(IntegerTransposedConvolution, RefusesSumsThatDoNotFit) {
  ConvolutionShape shape;
  shape.filters = 10000;
  shape.height = shape.width = 9;
  shape.window = {WindowAxis{3, 1, 1, 1, 1}, WindowAxis{3, 1, 1, 1, 1}};
  EXPECT_EQ(PlanIntegerTransposedConvolution(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "a transposed convolution with 90000 products in a sum; want fewer, so that a sum "
                "of products of codes fits in 32 bits"));
}

}  // namespace
}  // namespace fixpoint::kernels
