// Averages of codes against plain loops in 64 bits, to the bit.

#include "runtime/kernels/integer_pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/pooling_shape.h"
#include "tests/runtime/kernels/coding_cases.h"
#include "tests/runtime/kernels/drawn_codes.h"
#include "tests/runtime/kernels/pooling_cases.h"

namespace fixpoint::kernels {
namespace {

constexpr float kStep = 2.0f / 255;

std::vector<float> ExpectedAverages(const PoolingShape& shape, const std::vector<uint8_t>& x,
                                    const CodingCase& coding) {
  std::vector<float> y(shape.output_size());
  ForEachWindow(shape, [&](int64_t out, const std::vector<int64_t>& places, int64_t divisor) {
    int64_t sum = 0;
    for (const int64_t at : places) sum += coding.NumberOf(x[at]);
    if (!places.empty()) {
      y[out] = static_cast<float>(sum) * (kStep / static_cast<float>(divisor));
    }
  });
  return y;
}

class IntegerPoolings
    : public testing::TestWithParam<std::tuple<PoolingCase, PoolingVariant, CodingCase>> {
 protected:
  void SetUp() override {
    shape_ = ShapeOf(std::get<0>(GetParam()), std::get<1>(GetParam()));
    ASSERT_TRUE(CompleteShape(&shape_).ok());
    codes_ = DrawnCodes(shape_.input_size());
    averages_ = ExpectedAverages(shape_, codes_, coding_);
  }

  const CodingCase coding_ = std::get<2>(GetParam());
  PoolingShape shape_;
  std::vector<uint8_t> codes_;
  std::vector<float> averages_;
};

TEST_P(IntegerPoolings, AreOneMultiplicationOfTheSum) {
  const auto planned = IntegerPooling::Plan(shape_, coding_.coding.type);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> y(averages_.size());
  (*planned)->Run(codes_, coding_.zero_point, kStep, {}, absl::MakeSpan(y));
  EXPECT_EQ(y, averages_);
}

TEST_P(IntegerPoolings, AreStoredAsCodesAfterAnEpilogue) {
  using Kind = EpilogueStage::Kind;
  const Epilogue epilogue = {{Kind::kAddElement}, {Kind::kMultiplyChannel}, {Kind::kMultiply, 60}};
  const auto planned =
      IntegerPooling::Plan(shape_, coding_.coding.type, epilogue, OutputType::kInt8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> residual(averages_.size());
  for (size_t i = 0; i < residual.size(); ++i) residual[i] = std::sin(static_cast<float>(i));
  std::vector<float> factors(shape_.channels);
  for (size_t c = 0; c < factors.size(); ++c) factors[c] = 0.125f * static_cast<float>(c + 1);
  std::vector<int8_t> y(averages_.size());
  const absl::Span<const float> operands[] = {residual, factors, {}};
  (*planned)->Run(codes_, coding_.zero_point, kStep, operands, absl::MakeSpan(y));
  for (size_t i = 0; i < y.size(); ++i) {
    const float x = (averages_[i] + residual[i]) * factors[i % factors.size()] * 60;
    ASSERT_EQ(y[i], std::nearbyint(std::clamp(x, -128.0f, 127.0f))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, IntegerPoolings,
                         testing::Combine(testing::ValuesIn(PoolingCases()),
                                          testing::ValuesIn(AverageVariants()),
                                          testing::ValuesIn(CodingCases())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name +
                                  std::get<2>(info.param).name;
                         });

TEST(IntegerPooling, AddsUpMoreChannelsThanABlock) {
  PoolingShape shape;
  shape.type = PoolingType::kAverage;
  shape.channels = 600;
  shape.height = shape.width = 3;
  shape.adaptive = true;
  const std::vector<uint8_t> codes = DrawnCodes(shape.input_size());
  const auto planned = IntegerPooling::Plan(shape, CodeType::kUint8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> y(shape.output_size());
  (*planned)->Run(codes, /*zero_point=*/0, kStep, {}, absl::MakeSpan(y));
  EXPECT_EQ(y, ExpectedAverages(shape, codes, SymmetricCodings().front()));
}

TEST(IntegerPooling, RefusesSumsOfTooManyCodes) {
  PoolingShape shape;
  shape.type = PoolingType::kAverage;
  shape.height = shape.width = 3000;
  shape.adaptive = true;
  EXPECT_EQ(IntegerPooling::Plan(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "an average of 9000000 codes; want fewer, so that a sum fits in 32 bits"));
}

}  // namespace
}  // namespace fixpoint::kernels
