// Products of codes against plain loops in 64 bits, to the bit, and their epilogues against stages
// that are applied one by one.

#include "runtime/kernels/integer_elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "tests/runtime/kernels/coding_cases.h"

namespace fixpoint::kernels {
namespace {

constexpr float kScale = 0.007f / 127;

int64_t SizeOf(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  return size;
}

std::vector<uint8_t> Codes(int64_t size, uint32_t state) {
  std::vector<uint8_t> codes(size);
  for (uint8_t& code : codes) {
    state = state * 1664525u + 1013904223u;
    code = static_cast<uint8_t>(state >> 24);
  }
  return codes;
}

struct ShapeCase {
  std::string name;
  Dims x;
  Dims y;  // as many as x
  Dims out;
};

// The element of a tensor that is used for element `at` of the result.
int64_t PlaceIn(const Dims& dims, const Dims& out, int64_t at) {
  int64_t place = 0;
  int64_t stride = 1;
  for (int i = static_cast<int>(out.size()) - 1; i >= 0; --i) {
    if (dims[i] != 1) place += at % out[i] * stride;
    stride *= dims[i];
    at /= out[i];
  }
  return place;
}

std::vector<ShapeCase> ShapeCases() {
  return {{"Equal", {3, 5, 7}, {3, 5, 7}, {3, 5, 7}},
          {"LongerThanABlock", {2, 5000}, {2, 5000}, {2, 5000}},
          {"ChannelsOfImages", {2, 6, 5, 16}, {2, 1, 1, 16}, {2, 6, 5, 16}},
          {"ChannelsOfSmallImages", {3, 2, 2, 5}, {3, 1, 1, 5}, {3, 2, 2, 5}},
          {"ChannelsOfLargeImages", {2, 23, 19, 24}, {2, 1, 1, 24}, {2, 23, 19, 24}},
          {"ManyChannelsOfImages", {2, 3, 1, 4100}, {2, 1, 1, 4100}, {2, 3, 1, 4100}},
          {"XIsRepeated", {2, 1, 1, 16}, {2, 9, 40, 16}, {2, 9, 40, 16}},
          {"Pixels", {2, 6, 5, 3}, {2, 6, 5, 1}, {2, 6, 5, 3}},
          {"LongPixels", {2, 5000}, {2, 1}, {2, 5000}},
          {"Both", {4, 1, 3}, {1, 5, 3}, {4, 5, 3}},
          {"BothInEachRow", {30, 1}, {1, 300}, {30, 300}},
          {"One", {1, 1}, {1, 1}, {1, 1}}};
}

// Tells +0 from -0.
std::vector<uint32_t> Bits(const std::vector<float>& floats) {
  std::vector<uint32_t> bits(floats.size());
  std::memcpy(bits.data(), floats.data(), floats.size() * sizeof(float));
  return bits;
}

// What the epilogue of a product of two layers' outputs is: steps, residuals, clips.
struct EpilogueCase {
  const char* what;
  Epilogue epilogue;
};

std::vector<EpilogueCase> EpiloguesWithoutChannels() {
  using Kind = EpilogueStage::Kind;
  return {{"nothing", {}},
          {"a step", {{Kind::kMultiply, 60}}},
          {"clips", {{Kind::kClip, -0.9f, 0.7f}, {Kind::kMultiply, 60}, {Kind::kClip, -20, 39.7f}}},
          {"a zero point", {{Kind::kMultiply, 60}, {Kind::kRound}, {Kind::kAdd, 11}}},
          {"signed codes", {{Kind::kAddInt8, 0.5f, 3}, {Kind::kRelu}, {Kind::kMultiply, 31}}},
          {"unsigned codes", {{Kind::kAddUint8, 0.013f, 200}, {Kind::kMultiply, 60}}},
          {"codes and a zero point",
           {{Kind::kAddInt8, 0.5f, -128}, {Kind::kMultiply, 9}, {Kind::kRound}, {Kind::kAdd, -7}}},
          {"more than 16 bits", {{Kind::kMultiply, 7e4f}}},
          {"half a step", {{Kind::kMultiply, 60}, {Kind::kRound}, {Kind::kAdd, 0.5f}}},
          {"an activation", {{Kind::kLeakyRelu, 0.1f}, {Kind::kMultiply, 60}}}};
}

class IntegerMultiplications
    : public testing::TestWithParam<std::tuple<ShapeCase, CodingCase, CodingCase>> {
 protected:
  void SetUp() override {
    products_.resize(SizeOf(shape_.out));
    for (size_t i = 0; i < products_.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t product = int64_t{x_coding_.NumberOf(x_[PlaceIn(shape_.x, shape_.out, at)])} *
                              y_coding_.NumberOf(y_[PlaceIn(shape_.y, shape_.out, at)]);
      products_[i] = static_cast<float>(product) * kScale;
    }
  }

  absl::StatusOr<std::unique_ptr<IntegerMultiplication>> Plan(
      const Epilogue& epilogue = {}, OutputType output = OutputType::kFloat) const {
    return IntegerMultiplication::Plan({shape_.x, shape_.y, -1}, x_coding_.coding.type,
                                       y_coding_.coding.type, epilogue, output);
  }
  ElementwiseCodes x() const { return {x_, x_coding_.zero_point}; }
  ElementwiseCodes y() const { return {y_, y_coding_.zero_point}; }

  const ShapeCase shape_ = std::get<0>(GetParam());
  const CodingCase x_coding_ = std::get<1>(GetParam());
  const CodingCase y_coding_ = std::get<2>(GetParam());
  const std::vector<uint8_t> x_ = Codes(SizeOf(shape_.x), 12345);
  const std::vector<uint8_t> y_ = Codes(SizeOf(shape_.y), 54321);
  std::vector<float> products_;
};

TEST_P(IntegerMultiplications, AreOneMultiplicationOfTheInteger) {
  const auto planned = Plan();
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ((*planned)->out_dims(), shape_.out);
  std::vector<float> out(products_.size());
  (*planned)->Run(x(), y(), kScale, {}, absl::MakeSpan(out));
  EXPECT_EQ(Bits(out), Bits(products_));
}

TEST_P(IntegerMultiplications, AreStoredAsTheStagesOneByOneGive) {
  for (const auto& [what, epilogue] : EpiloguesWithoutChannels()) {
    for (const OutputType type : {OutputType::kUint8, OutputType::kInt8}) {
      const auto planned = Plan(epilogue, type);
      ASSERT_TRUE(planned.ok()) << planned.status();
      std::vector<uint8_t> out = Codes(static_cast<int64_t>(products_.size()), 777);
      std::vector<uint8_t> expected = out;
      const auto as_output = [type = type](std::vector<uint8_t>& codes) -> Output {
        if (type == OutputType::kUint8) return absl::MakeSpan(codes);
        return absl::MakeSpan(reinterpret_cast<int8_t*>(codes.data()), codes.size());
      };
      const std::vector<absl::Span<const float>> none(epilogue.size());
      (*planned)->Run(x(), y(), kScale, none, as_output(out));
      std::vector<float> products = products_;
      Store(epilogue, none, absl::MakeSpan(products), as_output(expected));
      EXPECT_EQ(out, expected) << what << (type == OutputType::kUint8 ? ", unsigned" : ", signed");
    }
  }
}

TEST_P(IntegerMultiplications, AreStoredAsCodesAfterAnEpilogue) {
  using Kind = EpilogueStage::Kind;
  const Epilogue epilogue = {{Kind::kAddElement},
                             {Kind::kMultiplyChannel},
                             {Kind::kAddInt8, 0.5f, 3},
                             {Kind::kMultiply, 60}};
  const auto planned = Plan(epilogue, OutputType::kInt8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> residual(products_.size());
  for (size_t i = 0; i < residual.size(); ++i) residual[i] = std::sin(static_cast<float>(i));
  std::vector<float> factors(shape_.out.back());
  for (size_t c = 0; c < factors.size(); ++c) factors[c] = 0.125f * static_cast<float>(c % 8 + 1);
  std::vector<int8_t> out(products_.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int8_t>(i % 5);
  const absl::Span<const float> operands[] = {residual, factors, {}, {}};
  (*planned)->Run(x(), y(), kScale, operands, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    const float normed = (products_[i] + residual[i]) * factors[i % factors.size()];
    const float sum = std::fma(static_cast<float>(i % 5) - 3, 0.5f, normed) * 60;
    ASSERT_EQ(out[i], std::nearbyint(std::clamp(sum, -128.0f, 127.0f))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, IntegerMultiplications,
                         testing::Combine(testing::ValuesIn(ShapeCases()),
                                          testing::ValuesIn(CodingCases()),
                                          testing::ValuesIn(CodingCases())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name +
                                  "And" + std::get<2>(info.param).name;
                         });

TEST(IntegerMultiplication, PlacesYAtAnAxisOfX) {
  const auto planned =
      IntegerMultiplication::Plan({{2, 3, 2}, {3}, 1}, CodeType::kInt8, CodeType::kUint8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<uint8_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<uint8_t> y = {1, 10, 100};
  std::vector<float> out(12);
  (*planned)->Run({x, 0}, {y, 0}, 2, {}, absl::MakeSpan(out));
  EXPECT_EQ(out, std::vector<float>({2, 4, 60, 80, 1000, 1200, 14, 16, 180, 200, 2200, 2400}));
}

TEST(IntegerMultiplication, StoresTheSmallestCodeForANaN) {
  const auto planned = IntegerMultiplication::Plan(
      {{2}, {2}, -1}, CodeType::kInt8, CodeType::kInt8,
      {{EpilogueStage::Kind::kClip, -6, 6}, {EpilogueStage::Kind::kMultiply, 2}},
      OutputType::kInt8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<uint8_t> codes = {0, 1};
  std::vector<int8_t> out(2);
  const absl::Span<const float> none[2] = {};
  (*planned)->Run({codes, 0}, {codes, 0}, std::numeric_limits<float>::infinity(), none,
                  absl::MakeSpan(out));
  EXPECT_EQ(out, std::vector<int8_t>({-12, 12}));  // of 0 * infinity, and of infinity
}

TEST(IntegerMultiplication, RefusesWhatDoesNotBroadcast) {
  EXPECT_EQ(
      IntegerMultiplication::Plan({{2, 3}, {2, 4}, -1}, CodeType::kInt8, CodeType::kInt8).status(),
      absl::InvalidArgumentError(
          "X [2, 3] and Y [2, 4] do not broadcast: want equal dimensions or 1, got 3 and 4"));
}

}  // namespace
}  // namespace fixpoint::kernels
