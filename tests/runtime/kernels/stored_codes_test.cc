// Convolutions and products of codes that store codes: the same bits as sums stored as floats, to
// which each operation of the epilogue is applied on its own, rounded half to even at the end.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "ops/fixed_point.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_product.h"
#include "tests/runtime/kernels/coding_cases.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

struct StoredCase {
  std::string name;
  Epilogue epilogue;
  OutputType output;
};

const StoredCase kCases[] = {
    {"Unsigned", {{Kind::kRelu}, {Kind::kMultiply, 18.5f}}, OutputType::kUint8},
    {"Signed", {{Kind::kAddChannel}, {Kind::kMultiply, 31.75f}}, OutputType::kInt8},
    {"FourBits", {{Kind::kMultiply, 3.5f}, {Kind::kClip, -8, 7}}, OutputType::kInt8},
    {"BatchNorm",
     {{Kind::kMultiplyChannel}, {Kind::kAddChannel}, {Kind::kClip, 0, 6}, {Kind::kMultiply, 42.5f}},
     OutputType::kUint8},
    {"ClippedTwice",
     {{Kind::kAddChannel},
      {Kind::kClip, -1, 1.5f},
      {Kind::kMultiply, 31.75f},
      {Kind::kClip, -5, 40}},
     OutputType::kInt8},
    {"LeakyRelu", {{Kind::kLeakyRelu, 0.1f}, {Kind::kMultiply, 31.75f}}, OutputType::kInt8},
    {"Requantized",
     {{Kind::kMultiply, 997.0f}, {Kind::kRound}, {Kind::kRequantize, 1}},
     OutputType::kInt8},
    {"RequantizedTwice",
     {{Kind::kMultiply, 997.0f},
      {Kind::kRound},
      {Kind::kRelu},
      {Kind::kRequantize, 2},
      {Kind::kAdd, 7}},
     OutputType::kUint8},
    {"HardSwish",
     {{Kind::kAddChannel}, {Kind::kHardSwish, 1 / 6.0f, 0.5f}, {Kind::kMultiply, 31.75f}},
     OutputType::kInt8},
    {"ResidualOfItsType",
     {{Kind::kMultiplyChannel},
      {Kind::kAddChannel},
      {Kind::kAddUint8, 0.0213f},
      {Kind::kRelu},
      {Kind::kMultiply, 18.5f}},
     OutputType::kUint8},
    {"ResidualOfTheOtherType",
     {{Kind::kAddInt8, 0.0213f}, {Kind::kRelu}, {Kind::kMultiply, 18.5f}},
     OutputType::kUint8},
    {"Affine",
     {{Kind::kAddChannel}, {Kind::kMultiply, 31.75f}, {Kind::kRound}, {Kind::kAdd, 77}},
     OutputType::kUint8},
    {"AffineOfActivations",
     {{Kind::kMultiplyChannel},
      {Kind::kAddChannel},
      {Kind::kRelu},
      {Kind::kMultiply, 31.75f},
      {Kind::kRound},
      {Kind::kAdd, -77}},
     OutputType::kInt8},
    {"AffineOfFourBits",
     {{Kind::kMultiply, 3.5f}, {Kind::kRound}, {Kind::kAdd, -2}, {Kind::kClip, -8, 7}},
     OutputType::kInt8},
    {"AffineResidualOfItsType",
     {{Kind::kAddUint8, 0.0213f, 77}, {Kind::kMultiply, 18.5f}, {Kind::kRound}, {Kind::kAdd, 101}},
     OutputType::kUint8},
    {"AffineResidualOfTheOtherType",
     {{Kind::kAddInt8, 0.0213f, -50}, {Kind::kMultiply, 18.5f}, {Kind::kRound}, {Kind::kAdd, 101}},
     OutputType::kUint8},
    {"Biased",
     {{Kind::kAddChannel}, {Kind::kMultiplyChannel}, {Kind::kRelu}, {Kind::kMultiply, 18.5f}},
     OutputType::kUint8},
    {"BiasedAffineResidual",
     {{Kind::kAddChannel},
      {Kind::kMultiplyChannel},
      {Kind::kMultiplyChannel},
      {Kind::kAddChannel},
      {Kind::kAddUint8, 0.0213f, 77},
      {Kind::kMultiply, 18.5f},
      {Kind::kRound},
      {Kind::kAdd, 101}},
     OutputType::kUint8},
    {"BiasedResidual",
     {{Kind::kAddChannel},
      {Kind::kMultiplyChannel},
      {Kind::kAddInt8, 0.0213f},
      {Kind::kMultiply, 18.5f}},
     OutputType::kInt8},
    {"ResidualNearTies",
     {{Kind::kAddElement}, {Kind::kAddUint8, 0.0213f}, {Kind::kMultiply, 18.5f}},
     OutputType::kUint8},
    {"ResidualOfTheOtherTypeNearTies",
     {{Kind::kAddElement}, {Kind::kAddInt8, 0.0213f}, {Kind::kMultiply, 18.5f}},
     OutputType::kInt8},
};

// Floats between -2 and 2 that look random.
class Numbers {
 public:
  float Next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int32_t>(state_)) / (1 << 30);
  }
  std::vector<float> Vector(int64_t size) {
    std::vector<float> numbers(size);
    for (float& number : numbers) number = Next();
    return numbers;
  }
  template <typename Code>
  std::vector<Code> Codes(int64_t size, float largest) {
    std::vector<Code> codes(size);
    for (Code& code : codes) {
      const float number = Next() / 2 * largest;
      code = static_cast<Code>(std::is_signed_v<Code> ? number : std::abs(number));
    }
    return codes;
  }

 private:
  uint32_t state_ = 12345;
};

float AddCode(const EpilogueStage& stage, float x, float code, bool rounds_once) {
  const float steps = code - stage.b;
  return rounds_once ? std::fma(steps, stage.a, x) : x + steps * stage.a;
}

float Operate(const EpilogueStage& stage, float x, float operand, uint8_t stored,
              bool rounds_once) {
  switch (stage.kind) {
    case Kind::kAddChannel:
    case Kind::kAddElement:
      return x + operand;
    case Kind::kMultiplyChannel:
      return x * operand;
    case Kind::kRequantize:
      return static_cast<float>(Requantize(
          static_cast<int64_t>(x), FixedPointMultiplierOf(operand, 32), static_cast<int>(stage.a)));
    case Kind::kAddInt8:
      return AddCode(stage, x, static_cast<int8_t>(stored), rounds_once);
    case Kind::kAddUint8:
      return AddCode(stage, x, stored, rounds_once);
    case Kind::kMultiply:
      return x * stage.a;
    case Kind::kAdd:
      return x + stage.a;
    case Kind::kRound:
      return std::nearbyint(x);
    case Kind::kRelu:
      return std::max(x, 0.0f);
    case Kind::kLeakyRelu:
      return x > 0 ? x : x * stage.a;
    case Kind::kHardSwish: {
      const float line = x * stage.a + stage.b;
      return x * std::min(std::max(line, 0.0f), 1.0f);
    }
    case Kind::kClip:
      return std::min(std::max(x, stage.a), stage.b);
  }
  return x;
}

// As bytes. Codes are added by one rounding, or, which is wrong, by two.
std::vector<uint8_t> Expected(const StoredCase& stored,
                              const std::vector<absl::Span<const float>>& operands,
                              const std::vector<float>& sums, const std::vector<uint8_t>& before,
                              bool rounds_once = true) {
  const bool is_signed = stored.output == OutputType::kInt8;
  std::vector<uint8_t> codes(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    float x = sums[i];
    for (size_t s = 0; s < stored.epilogue.size(); ++s) {
      const float operand = operands[s].empty() ? 0 : operands[s][i % operands[s].size()];
      x = Operate(stored.epilogue[s], x, operand, before[i], rounds_once);
    }
    x = std::min(std::max(x, is_signed ? -128.0f : 0.0f), is_signed ? 127.0f : 255.0f);
    codes[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(x)));
  }
  return codes;
}

// What to add to sums so that each is within a few units in the last place of a tie, once codes are
// added and the result is multiplied: one rounding more or less gives another code.
std::vector<float> TowardsTies(const StoredCase& stored, const std::vector<float>& sums,
                               const std::vector<uint8_t>& before) {
  const EpilogueStage& added = stored.epilogue[1];
  const float multiplier = stored.epilogue[2].a;
  std::vector<float> addends(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const int code =
        added.kind == Kind::kAddInt8 ? static_cast<int8_t>(before[i]) : static_cast<int>(before[i]);
    const double tie = (static_cast<int>(i % 100) + 0.5) / multiplier;
    addends[i] = static_cast<float>(tie - code * static_cast<double>(added.a) - sums[i]);
  }
  return addends;
}

// Runs both kernels, which are of one product, and compares.
void ExpectStores(const StoredCase& stored, IntegerSums& plain, IntegerSums& storing,
                  const std::vector<uint8_t>& inputs, int32_t zero_point,
                  const std::vector<int8_t>& weights, int64_t channels, int64_t size,
                  Numbers* numbers) {
  const std::vector<uint8_t> packed = Packed(storing, weights);
  std::vector<float> scales = numbers->Vector(channels);
  const bool is_near_ties = stored.epilogue.front().kind == Kind::kAddElement;
  // Bringing small sums to a tie loses little of them.
  for (float& scale : scales) scale *= is_near_ties ? 1e-5f : 1e-3f;
  const std::vector<uint8_t> before = numbers->Codes<uint8_t>(size, 255);
  std::vector<float> sums(size);
  plain.Run({inputs, Packed(plain, weights), scales, zero_point}, absl::MakeSpan(sums));
  std::vector<std::vector<float>> values;
  for (const EpilogueStage& stage : stored.epilogue) {
    values.push_back(stage.kind == Kind::kAddElement
                         ? TowardsTies(stored, sums, before)
                         : numbers->Vector(stage.is_of_channels() ? channels : 0));
    if (stage.kind != Kind::kRequantize) continue;
    for (float& factor : values.back()) factor = std::abs(factor);
  }
  const std::vector<absl::Span<const float>> operands(values.begin(), values.end());
  std::vector<uint8_t> codes = before;
  if (stored.output == OutputType::kInt8) {
    storing.Run({inputs, packed, scales, zero_point, operands},
                absl::MakeSpan(reinterpret_cast<int8_t*>(codes.data()), codes.size()));
  } else {
    storing.Run({inputs, packed, scales, zero_point, operands}, absl::MakeSpan(codes));
  }
  EXPECT_EQ(codes, Expected(stored, operands, sums, before));
  if (is_near_ties && size >= 100) {
    EXPECT_NE(codes, Expected(stored, operands, sums, before, /*rounds_once=*/false));
  }
}

// With a zero point and without.
std::vector<CodingCase> Codings() {
  std::vector<CodingCase> codings = SymmetricCodings();
  for (const CodingCase& coding : AffineCodings()) {
    if (coding.name == "AffineUint8" || coding.name == "AffineInt8") codings.push_back(coding);
  }
  return codings;
}

class StoredConvolutions
    : public testing::TestWithParam<std::tuple<ConvolutionCase, StoredCase, CodingCase>> {};

TEST_P(StoredConvolutions, HaveTheBitsOfOperationsOnNumbers) {
  const auto& [shape_case, stored, coding] = GetParam();
  const ConvolutionShape& shape = shape_case.shape;
  const auto plain = PlanIntegerConvolution(shape, coding.coding);
  const auto storing = PlanIntegerConvolution(shape, coding.coding, stored.epilogue, stored.output);
  ASSERT_TRUE(plain.ok() && storing.ok()) << plain.status() << storing.status();
  Numbers numbers;
  const auto images = numbers.Codes<uint8_t>(shape.input_size(), 100);
  const auto filters = numbers.Codes<int8_t>(shape.filter_size(), 120);
  ExpectStores(stored, **plain, **storing, images, coding.zero_point, filters, shape.filters,
               shape.output_size(), &numbers);
}

std::string NameOf(const testing::TestParamInfo<StoredConvolutions::ParamType>& info) {
  const auto& [shape, stored, coding] = info.param;
  return shape.name + stored.name + "Of" + coding.name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, StoredConvolutions,
                         testing::Combine(testing::ValuesIn(SmallIntegerConvolutionCases()),
                                          testing::ValuesIn(kCases), testing::ValuesIn(Codings())),
                         NameOf);

// One case for each kind of operand: none, per channel, per element, and codes of both types.
std::vector<StoredCase> CasesForLargeShapes() {
  std::vector<StoredCase> cases;
  for (const StoredCase& stored : kCases) {
    for (const char* name :
         {"Unsigned", "BatchNorm", "BiasedAffineResidual", "ResidualOfTheOtherTypeNearTies"}) {
      if (stored.name == name) cases.push_back(stored);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(LargeShapes, StoredConvolutions,
                         testing::Combine(testing::ValuesIn(LargeIntegerConvolutionCases()),
                                          testing::ValuesIn(CasesForLargeShapes()),
                                          testing::ValuesIn(Codings())),
                         NameOf);

TEST(StoredConvolutions, HaveTilesWhereTheyAreFaster) {
  if (!HasAvx512Vnni() || HasAmx()) {
    GTEST_SKIP() << "no AVX-512 VNNI, or AMX";
  }
  const Epilogue relu = {{Kind::kRelu}, {Kind::kMultiply, 18.5f}};
  for (const ConvolutionCase& test : TiledConvolutionCases()) {
    const auto implementation = [&test](const Epilogue& epilogue, OutputType output) {
      const auto planned = PlanIntegerConvolution(test.shape, CodeType::kUint8, epilogue, output);
      return planned.ok() ? (*planned)->implementation() : planned.status().ToString();
    };
    EXPECT_EQ(implementation(relu, OutputType::kUint8), "loops:avx512_vnni") << test.name;
    EXPECT_NE(implementation(relu, OutputType::kFloat), "loops:avx512_vnni") << test.name;
    EXPECT_NE(implementation({{Kind::kLeakyRelu, 0.1f}}, OutputType::kInt8), "loops:avx512_vnni")
        << test.name;
  }
}

class StoredProducts : public testing::TestWithParam<StoredCase> {};

TEST_P(StoredProducts, HaveTheBitsOfOperationsOnNumbers) {
  const StoredCase& stored = GetParam();
  const ProductShape shape = {1, 9, 33, 21};
  const auto plain = PlanIntegerProduct(shape, CodeType::kUint8);
  const auto storing = PlanIntegerProduct(shape, CodeType::kUint8, stored.epilogue, stored.output);
  ASSERT_TRUE(plain.ok() && storing.ok()) << plain.status() << storing.status();
  Numbers numbers;
  const auto x = numbers.Codes<uint8_t>(shape.x_size(), 100);
  const auto y = numbers.Codes<int8_t>(shape.y_size(), 120);
  ExpectStores(stored, **plain, **storing, x, /*zero_point=*/0, y, shape.columns, shape.out_size(),
               &numbers);
}

INSTANTIATE_TEST_SUITE_P(Epilogues, StoredProducts, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
