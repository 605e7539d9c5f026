// A convolution or a product with an epilogue has the bits of one without, to which each operation
// is applied on its own.

#include "runtime/kernels/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/product.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

struct EpilogueCase {
  std::string name;
  Epilogue epilogue;
};

const EpilogueCase kEpilogues[] = {
    {"Bias", {{Kind::kAddChannel}}},
    {"BiasAndRelu", {{Kind::kAddChannel}, {Kind::kRelu}}},
    {"BatchNormAndRelu6", {{Kind::kMultiplyChannel}, {Kind::kAddChannel}, {Kind::kClip, 0, 6}}},
    {"Everything",
     {{Kind::kAddChannel},
      {Kind::kMultiplyChannel},
      {Kind::kAddChannel},
      {Kind::kAddElement},
      {Kind::kRelu}}},
    {"LeakyRelu", {{Kind::kAddChannel}, {Kind::kLeakyRelu, 0.1f}, {Kind::kMultiply, 0.3f}}},
    {"HardSwish", {{Kind::kAddChannel}, {Kind::kHardSwish, 1 / 6.0f, 0.5f}}},
    {"Steps", {{Kind::kMultiply, 7.3f}, {Kind::kRound}, {Kind::kAdd, 64}}},
    {"MoreThanOneDnnTakes", Epilogue(33, {Kind::kAddChannel})},
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

 private:
  uint32_t state_ = 12345;
};

// The operands of an epilogue, for an output of `size` elements.
class Operands {
 public:
  Operands(const Epilogue& epilogue, int64_t channels, int64_t size, Numbers* numbers) {
    for (const EpilogueStage& stage : epilogue) {
      const int64_t count = stage.kind == Kind::kAddElement ? size : channels;
      values_.push_back(numbers->Vector(stage.has_operand() ? count : 0));
    }
    spans_.assign(values_.begin(), values_.end());
  }
  EpilogueOperands spans() const { return spans_; }

 private:
  std::vector<std::vector<float>> values_;
  std::vector<absl::Span<const float>> spans_;
};

// Applies one operation to a value.
float Operate(const EpilogueStage& stage, float x, float operand) {
  switch (stage.kind) {
    case Kind::kAddChannel:
    case Kind::kAddElement:
      return x + operand;
    case Kind::kMultiplyChannel:
      return x * operand;
    case Kind::kRelu:
      return x > 0 ? x : 0;
    case Kind::kClip:
      return std::isnan(x) ? stage.a : std::min(std::max(x, stage.a), stage.b);
    case Kind::kMultiply:
      return x * stage.a;
    case Kind::kAdd:
      return x + stage.a;
    case Kind::kRound:
      return std::nearbyint(x);
    case Kind::kLeakyRelu:
      return x > 0 ? x : x * stage.a;
    case Kind::kHardSwish:
      return x * std::min(std::max(x * stage.a + stage.b, 0.0f), 1.0f);
    case Kind::kAddInt8:
    case Kind::kAddUint8:
    case Kind::kRequantize:
      break;  // of codes that are stored (stored_codes_test)
  }
  return x;
}

std::vector<float> Operated(const Epilogue& epilogue, EpilogueOperands operands,
                            std::vector<float> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    for (size_t stage = 0; stage < epilogue.size(); ++stage) {
      const absl::Span<const float> operand = operands[stage];
      const float number = operand.empty() ? 0 : operand[i % operand.size()];
      elements[i] = Operate(epilogue[stage], elements[i], number);
    }
  }
  return elements;
}

testing::AssertionResult HaveEqualBits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

class Epilogues : public testing::TestWithParam<std::tuple<ConvolutionCase, EpilogueCase>> {};

TEST_P(Epilogues, AreOperationsAfterAConvolution) {
  const ConvolutionShape& shape = std::get<0>(GetParam()).shape;
  const Epilogue& epilogue = std::get<1>(GetParam()).epilogue;
  const auto plain = ConvolutionForward::Plan(shape);
  const auto fused = ConvolutionForward::Plan(shape, epilogue);
  ASSERT_TRUE(plain.ok() && fused.ok()) << plain.status() << fused.status();
  Numbers numbers;
  const std::vector<float> x = numbers.Vector(shape.input_size());
  const std::vector<float> filters = numbers.Vector(shape.filter_size());
  const Operands operands(epilogue, shape.filters, shape.output_size(), &numbers);
  std::vector<float> y(shape.output_size());
  std::vector<float> fused_y(shape.output_size());
  (*plain)->Run(x, Packed(**plain, filters), {}, absl::MakeSpan(y));
  EXPECT_FALSE(IsSlow((*fused)->implementation())) << (*fused)->implementation();
  (*fused)->Run(x, Packed(**fused, filters), operands.spans(), absl::MakeSpan(fused_y));
  EXPECT_TRUE(HaveEqualBits(fused_y, Operated(epilogue, operands.spans(), y)));
}

TEST(AddElement, IsTheSameOfWhatTheOutputHas) {
  const Epilogue epilogue = {{Kind::kMultiplyChannel}, {Kind::kAddElement}, {Kind::kRelu}};
  int kernels = 0;
  for (const ConvolutionCase& convolution : ConvolutionCases()) {
    SCOPED_TRACE(convolution.name);
    const ConvolutionShape& shape = convolution.shape;
    const auto apart = ConvolutionForward::Plan(shape, epilogue);
    const auto adding = ConvolutionForward::Plan(shape, epilogue, /*adds_to_output=*/true);
    if (absl::IsUnimplemented(adding.status())) continue;
    ASSERT_TRUE(apart.ok() && adding.ok()) << apart.status() << adding.status();
    ++kernels;
    Numbers numbers;
    const std::vector<float> x = numbers.Vector(shape.input_size());
    const std::vector<float> filters = numbers.Vector(shape.filter_size());
    const Operands operands(epilogue, shape.filters, shape.output_size(), &numbers);
    std::vector<float> expected(shape.output_size());
    (*apart)->Run(x, Packed(**apart, filters), operands.spans(), absl::MakeSpan(expected));
    const absl::Span<const float> added = operands.spans()[1];
    std::vector<float> y(added.begin(), added.end());
    (*adding)->Run(x, Packed(**adding, filters), operands.spans(), absl::MakeSpan(y));
    EXPECT_TRUE(HaveEqualBits(y, expected));
  }
  // With AVX2, oneDNN may have none.
  EXPECT_TRUE(kernels > 4 || BestInstructionSet() == InstructionSet::kAvx2) << kernels;
}

TEST_P(Epilogues, AreOperationsAfterAConvolutionOfCodes) {
  const ConvolutionShape& shape = std::get<0>(GetParam()).shape;
  const Epilogue& epilogue = std::get<1>(GetParam()).epilogue;
  for (const CodeType type : {CodeType::kUint8, CodeType::kInt8}) {
    const auto plain = PlanIntegerConvolution(shape, type);
    const auto fused = PlanIntegerConvolution(shape, type, epilogue);
    ASSERT_TRUE(plain.ok() && fused.ok()) << plain.status() << fused.status();
    EXPECT_FALSE(IsSlow((*fused)->implementation())) << (*fused)->implementation();
    Numbers numbers;
    std::vector<uint8_t> images(shape.input_size());
    for (uint8_t& code : images) code = static_cast<uint8_t>(std::abs(numbers.Next()) * 100);
    std::vector<int8_t> filters(shape.filter_size());
    for (int8_t& code : filters) code = static_cast<int8_t>(numbers.Next() * 60);
    std::vector<float> scales = numbers.Vector(shape.filters);
    for (float& scale : scales) scale *= 1e-3f;
    const Operands operands(epilogue, shape.filters, shape.output_size(), &numbers);
    std::vector<float> y(shape.output_size());
    std::vector<float> fused_y(shape.output_size());
    (*plain)->Run({images, Packed(**plain, filters), scales}, absl::MakeSpan(y));
    (*fused)->Run({images, Packed(**fused, filters), scales, 0, operands.spans()},
                  absl::MakeSpan(fused_y));
    EXPECT_TRUE(HaveEqualBits(fused_y, Operated(epilogue, operands.spans(), y)));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Epilogues,
                         testing::Combine(testing::ValuesIn(ConvolutionCases()),
                                          testing::ValuesIn(kEpilogues)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name;
                         });

class ProductEpilogues : public testing::TestWithParam<EpilogueCase> {};

TEST_P(ProductEpilogues, AreOperationsAfterAProduct) {
  const Epilogue& epilogue = GetParam().epilogue;
  const ProductShape shape = {2, 9, 33, 21};
  const auto plain = Product::Plan(shape);
  const auto fused = Product::Plan(shape, epilogue);
  ASSERT_TRUE(plain.ok() && fused.ok()) << plain.status() << fused.status();
  Numbers numbers;
  const std::vector<float> x = numbers.Vector(shape.x_size());
  const std::vector<float> y = numbers.Vector(shape.y_size());
  const Operands operands(epilogue, shape.columns, shape.out_size(), &numbers);
  std::vector<float> out(shape.out_size());
  std::vector<float> fused_out(shape.out_size());
  (*plain)->Run(x, Packed(**plain, y), {}, absl::MakeSpan(out));
  (*fused)->Run(x, Packed(**fused, y), operands.spans(), absl::MakeSpan(fused_out));
  EXPECT_TRUE(HaveEqualBits(fused_out, Operated(epilogue, operands.spans(), out)));
}

TEST_P(ProductEpilogues, AreOperationsAfterAProductOfCodes) {
  const Epilogue& epilogue = GetParam().epilogue;
  const ProductShape shape = {1, 9, 33, 21};
  const auto plain = PlanIntegerProduct(shape, CodeType::kUint8);
  const auto fused = PlanIntegerProduct(shape, CodeType::kUint8, epilogue);
  ASSERT_TRUE(plain.ok() && fused.ok()) << plain.status() << fused.status();
  Numbers numbers;
  std::vector<uint8_t> x(shape.x_size());
  for (uint8_t& code : x) code = static_cast<uint8_t>(std::abs(numbers.Next()) * 100);
  std::vector<int8_t> y(shape.y_size());
  for (int8_t& code : y) code = static_cast<int8_t>(numbers.Next() * 60);
  const std::vector<float> scales(shape.columns, 1e-3f);
  const Operands operands(epilogue, shape.columns, shape.out_size(), &numbers);
  std::vector<float> out(shape.out_size());
  std::vector<float> fused_out(shape.out_size());
  (*plain)->Run({x, Packed(**plain, y), scales}, absl::MakeSpan(out));
  (*fused)->Run({x, Packed(**fused, y), scales, 0, operands.spans()}, absl::MakeSpan(fused_out));
  EXPECT_TRUE(HaveEqualBits(fused_out, Operated(epilogue, operands.spans(), out)));
}

INSTANTIATE_TEST_SUITE_P(Epilogues, ProductEpilogues, testing::ValuesIn(kEpilogues),
                         [](const auto& info) { return info.param.name; });

TEST(Apply, DoesTheSameInPlace) {
  Numbers numbers;
  for (const auto& [name, epilogue] : kEpilogues) {
    const Operands operands(epilogue, 7, 35, &numbers);
    const std::vector<float> x = numbers.Vector(35);
    std::vector<float> y = x;
    Apply(epilogue, operands.spans(), absl::MakeSpan(y));
    EXPECT_TRUE(HaveEqualBits(y, Operated(epilogue, operands.spans(), x))) << name;
  }
}

// A convolution and a loop treat a NaN alike.
TEST(Epilogue, TakesANanForTheLowest) {
  const float nan = std::nanf("");
  for (const Epilogue& epilogue : {Epilogue{{Kind::kRelu}}, Epilogue{{Kind::kClip, -1, 6}}}) {
    const float lowest = epilogue.front().a;
    std::vector<float> y = {nan};
    Apply(epilogue, {{}}, absl::MakeSpan(y));
    EXPECT_EQ(y[0], lowest);
    const auto convolution = ConvolutionForward::Plan({}, epilogue);
    ASSERT_TRUE(convolution.ok()) << convolution.status();
    (*convolution)->Run({nan}, Packed(**convolution, {1.0f}), {{}}, absl::MakeSpan(y));
    EXPECT_EQ(y[0], lowest);
  }
}

TEST(AddCodes, RoundsOnce) {
  constexpr int64_t kSize = 1003;
  constexpr float kStep = 0.0213f;
  constexpr float kZeroPoint = -50;
  Numbers numbers;
  const std::vector<float> x = numbers.Vector(kSize);
  std::vector<uint8_t> bytes(kSize);
  std::vector<int8_t> codes(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    bytes[i] = static_cast<uint8_t>(i);
    codes[i] = static_cast<int8_t>(i % 256 - 128);
  }
  std::vector<float> of_bytes(kSize);
  AddCodes(x, bytes, kStep, /*zero_point=*/0, absl::MakeSpan(of_bytes));
  std::vector<float> in_place = x;
  AddCodes(in_place, codes, kStep, kZeroPoint, absl::MakeSpan(in_place));
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(of_bytes[i], std::fma(static_cast<float>(bytes[i]), kStep, x[i]));
    ASSERT_EQ(in_place[i], std::fma(static_cast<float>(codes[i]) - kZeroPoint, kStep, x[i]));
  }
}

}  // namespace
}  // namespace fixpoint::kernels
