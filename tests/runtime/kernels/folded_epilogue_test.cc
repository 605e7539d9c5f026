// Epilogues folded into few operations, against their stages one by one.

#include "runtime/kernels/folded_epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;
using Residual = FoldedEpilogue::Residual;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Fold, IsOfWhatLoweredSumsEndIn) {
  const auto found = Fold({{Kind::kMultiplyChannel},
                           {Kind::kAddChannel},
                           {Kind::kAddInt8, 0.25f, 3},
                           {Kind::kClip, 0, 6},
                           {Kind::kMultiply, 10},
                           {Kind::kRound},
                           {Kind::kAdd, -20}},
                          OutputType::kInt8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->factors, 0u);
  EXPECT_EQ(found->addends, 1u);
  EXPECT_EQ(found->residual, Residual::kInt8);
  EXPECT_EQ(found->residual_step, 0.25f);
  EXPECT_EQ(found->residual_zero_point, 3);
  EXPECT_EQ(found->multiplier, 10);
  EXPECT_TRUE(found->has_zero_point);
  EXPECT_EQ(found->zero_point, -20);
  EXPECT_EQ(found->lowest, -20);
  EXPECT_EQ(found->highest, 40);
}

TEST(Fold, IsOfNoStagesToo) {
  const auto found = Fold({}, OutputType::kUint8);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->bias || found->bias_factors || found->factors || found->addends);
  EXPECT_FALSE(found->has_zero_point);
  EXPECT_EQ(found->residual, Residual::kNone);
  EXPECT_EQ(found->multiplier, 1);
  EXPECT_EQ(found->lowest, 0);
  EXPECT_EQ(found->highest, 255);
}

TEST(Fold, IsOfSumsWithABiasInInt32) {
  const auto found = Fold({{Kind::kAddChannel},
                           {Kind::kMultiplyChannel},
                           {Kind::kMultiplyChannel},
                           {Kind::kAddChannel},
                           {Kind::kRelu}},
                          OutputType::kUint8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bias, 0u);
  EXPECT_EQ(found->bias_factors, 1u);
  EXPECT_EQ(found->factors, 2u);
  EXPECT_EQ(found->addends, 3u);
}

TEST(Fold, IsNotOfWhatHasAnotherFormOrOrder) {
  const auto is_found = [](const Epilogue& epilogue, OutputType output = OutputType::kInt8) {
    return Fold(epilogue, output).has_value();
  };
  EXPECT_TRUE(is_found({{Kind::kRelu}, {Kind::kMultiply, 2}}));
  EXPECT_FALSE(is_found({{Kind::kRelu}, {Kind::kMultiply, 2}}, OutputType::kFloat));
  EXPECT_FALSE(is_found({{Kind::kLeakyRelu, 0.1f}, {Kind::kMultiply, 2}}));
  EXPECT_FALSE(is_found({{Kind::kHardSwish, 0.1f, 0.5f}}));
  EXPECT_FALSE(is_found({{Kind::kAddElement}}));
  EXPECT_FALSE(is_found({{Kind::kAddChannel}, {Kind::kAddChannel}}));
  EXPECT_FALSE(is_found({{Kind::kRelu}, {Kind::kAddChannel}}));
  EXPECT_FALSE(is_found({{Kind::kMultiply, 2}, {Kind::kAdd, 3}}));
  // These do not keep the order of values.
  EXPECT_FALSE(is_found({{Kind::kMultiply, -2}}));
  EXPECT_FALSE(is_found({{Kind::kMultiply, 0}}));
  EXPECT_FALSE(is_found({{Kind::kMultiply, kInfinity}}));
  EXPECT_FALSE(is_found({{Kind::kMultiply, kNan}}));
  EXPECT_FALSE(is_found({{Kind::kClip, kNan, 1}}));
  EXPECT_FALSE(is_found({{Kind::kRound}, {Kind::kAdd, kNan}}));
  EXPECT_FALSE(is_found({{Kind::kRound}, {Kind::kAdd, kInfinity}}));
}

// min(max(x, lowest), highest), the lowest of a NaN, as EpilogueStage defines it.
float Clip(float x, float lowest, float highest) {
  return std::min(x > lowest ? x : lowest, highest);
}

int CodeOf(const Epilogue& epilogue, OutputType output, float x) {
  for (const EpilogueStage& stage : epilogue) {
    if (stage.kind == Kind::kRelu) x = Clip(x, 0, kInfinity);
    if (stage.kind == Kind::kClip) x = Clip(x, stage.a, stage.b);
    if (stage.kind == Kind::kMultiply) x = x * stage.a;
    if (stage.kind == Kind::kRound) x = std::nearbyint(x);
    if (stage.kind == Kind::kAdd) x = x + stage.a;
  }
  const bool is_signed = output == OutputType::kInt8;
  return static_cast<int>(std::nearbyint(Clip(x, is_signed ? -128 : 0, is_signed ? 127 : 255)));
}

int CodeOf(const FoldedEpilogue& folded, float x) {
  x = x * folded.multiplier;
  if (folded.has_zero_point) x = std::nearbyint(x) + folded.zero_point;
  return static_cast<int>(std::nearbyint(Clip(x, folded.lowest, folded.highest)));
}

struct FoldedCase {
  std::string name;
  Epilogue epilogue;
};

const FoldedCase kCases[] = {
    {"Nothing", {}},
    {"Multiplied", {{Kind::kMultiply, 18.5f}}},
    {"Relu", {{Kind::kRelu}, {Kind::kMultiply, 18.5f}}},
    {"Relu6", {{Kind::kClip, 0, 6}, {Kind::kMultiply, 21.3f}}},
    {"FourBits", {{Kind::kRelu}, {Kind::kMultiply, 3.5f}, {Kind::kClip, 0, 15}}},
    {"ClippedThreeTimes",
     {{Kind::kClip, -1, 3}, {Kind::kRelu}, {Kind::kMultiply, 7.1f}, {Kind::kClip, 2, 18}}},
    {"ClippedToOneNumber", {{Kind::kClip, 3, 1}, {Kind::kMultiply, 7.1f}}},
    {"ClippedOutside", {{Kind::kClip, 300, 400}}},
    {"Affine", {{Kind::kMultiply, 31.75f}, {Kind::kRound}, {Kind::kAdd, 77}}},
    {"AffineRelu", {{Kind::kRelu}, {Kind::kMultiply, 31.75f}, {Kind::kRound}, {Kind::kAdd, -77}}},
    {"AffineOfFourBits",
     {{Kind::kMultiply, 3.5f}, {Kind::kRound}, {Kind::kAdd, -2}, {Kind::kClip, -8, 7}}},
    {"Tiny", {{Kind::kRelu}, {Kind::kMultiply, 1e-44f}}},
    {"Huge", {{Kind::kClip, -2, 2}, {Kind::kMultiply, 3e38f}}},
};

class Folded : public testing::TestWithParam<FoldedCase> {};

TEST_P(Folded, HasTheCodesOfItsStages) {
  const Epilogue& epilogue = GetParam().epilogue;
  std::vector<float> numbers = {0.0f,   -0.0f,  kNan, kInfinity, -kInfinity, 3e38f,
                                -3e38f, 1e-45f, 1.0f, 6.0f,      -1.0f,      2.5f};
  uint32_t state = 12345;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(static_cast<int32_t>(state)) / (1 << 28));
    // Ties of what is multiplied by 3.5.
    numbers.push_back((static_cast<float>(i - 1000) + 0.5f) / 3.5f);
  }
  for (const OutputType output : {OutputType::kUint8, OutputType::kInt8}) {
    const std::optional<FoldedEpilogue> folded = Fold(epilogue, output);
    ASSERT_TRUE(folded);
    for (const float x : numbers) {
      EXPECT_EQ(CodeOf(*folded, x), CodeOf(epilogue, output, x)) << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Epilogues, Folded, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
