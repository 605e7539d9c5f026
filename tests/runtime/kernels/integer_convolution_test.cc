// The sums of products of codes against plain loops in 64 bits.

#include "runtime/kernels/integer_convolution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "runtime/kernels/instruction_set.h"
#include "tests/runtime/kernels/coding_cases.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

// Codes that look random, or all as large as they can be.
enum class Codes { kMixed, kLargest };

class ExactConvolution
    : public testing::TestWithParam<std::tuple<ConvolutionCase, CodingCase, Codes>> {};

TEST_P(ExactConvolution, GivesTheSumsOfPlainLoops) {
  const auto& [test, coding, codes] = GetParam();
  const ConvolutionShape& shape = test.shape;
  uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  std::vector<uint8_t> images(shape.input_size());
  const auto farthest = static_cast<uint8_t>(coding.farthest);
  for (uint8_t& code : images) {
    code = codes == Codes::kLargest ? farthest : static_cast<uint8_t>(next() >> 24);
  }
  std::vector<int8_t> filters(shape.filter_size());
  for (int8_t& code : filters) {
    code = codes == Codes::kLargest ? -128 : static_cast<int8_t>(next() >> 24);
  }

  const auto planned = PlanIntegerConvolution(shape, coding.coding);
  ASSERT_TRUE(planned.ok()) << planned.status();
  IntegerSums& convolution = **planned;
  EXPECT_FALSE(IsSlow(convolution.implementation())) << convolution.implementation();
  std::vector<float> scales(shape.filters);
  for (size_t f = 0; f < scales.size(); ++f) scales[f] = 0.001f * static_cast<float>(f + 1);
  std::vector<float> y(shape.output_size());
  std::vector<int64_t> sums(y.size(), 0);
  ForEachTap(shape, [&, &number_of = coding](int64_t out, int64_t x, int64_t tap) {
    sums[out] += int64_t{number_of.NumberOf(images[x])} * filters[tap];
  });
  for (int step = 0; step < 2; ++step) {
    convolution.Run({images, Packed(convolution, filters), scales, coding.zero_point},
                    absl::MakeSpan(y));
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], static_cast<float>(sums[i]) * scales[i % scales.size()]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactConvolution,
                         testing::Combine(testing::ValuesIn(ConvolutionCases()),
                                          testing::ValuesIn(CodingCases()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name +
                                  (std::get<2>(info.param) == Codes::kMixed ? "Mixed" : "Largest");
                         });

TEST(IntegerConvolution, HasLoopsOfItsOwnWhereTheyAreFaster) {
  if (!HasAvx512Vnni()) {
    GTEST_SKIP() << "no AVX-512 VNNI";
  }
  for (const ConvolutionCase& test : ConvolutionCases()) {
    const bool has_loops = absl::StartsWith(test.name, "OneChannel") ||
                           (absl::StartsWith(test.name, "Depthwise") && test.name != "Depthwise");
    for (const CodingCase& coding : CodingCases()) {
      const auto planned = PlanIntegerConvolution(test.shape, coding.coding);
      ASSERT_TRUE(planned.ok()) << planned.status();
      EXPECT_EQ((*planned)->implementation() == "loops:avx512_vnni", has_loops) << test.name;
    }
  }
}

TEST(IntegerConvolution, RefusesWhatDoesNotFit) {
  ConvolutionShape shape;
  shape.channels = 3;
  shape.height = shape.width = 9;
  shape.filters = 16;
  shape.window = {WindowAxis{3, 1, 1, 1, 1}, WindowAxis{3, 1, 1, 1, 1}};
  shape.groups = 2;
  EXPECT_EQ(PlanIntegerConvolution(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError("2 groups of 3 channels and 16 filters; want a divisor of "
                                       "both"));
  shape.groups = 1;
  shape.channels = 10000;
  EXPECT_EQ(PlanIntegerConvolution(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "a convolution with 90000 products in a sum; want fewer, so that a sum of products "
                "of codes fits in 32 bits"));
  // Products with a zero point are a sum of their own.
  shape.channels = 5000;
  EXPECT_TRUE(PlanIntegerConvolution(shape, CodeType::kUint8).ok());
  EXPECT_FALSE(PlanIntegerConvolution(shape, InputCoding(CodeType::kUint8, true)).ok());
}

}  // namespace
}  // namespace fixpoint::kernels
