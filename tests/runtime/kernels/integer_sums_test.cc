// Sums with a bias in int32, and of weights with zero points, against plain loops in 64 bits: what
// is rounded is the integer of all.

#include "runtime/kernels/integer_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/bias_codes.h"
#include "ops/sums_of_codes.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_transposed_convolution.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/wide_sums.h"
#include "tests/runtime/kernels/coding_cases.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

// Codes that look random, or all as large as they can be.
enum class Codes { kMixed, kLargest };

class Draws {
 public:
  explicit Draws(Codes codes) : codes_(codes) {}

  std::vector<uint8_t> Inputs(int64_t count, const CodingCase& coding) {
    std::vector<uint8_t> drawn(count);
    for (uint8_t& code : drawn) code = Next(static_cast<uint8_t>(coding.farthest));
    return drawn;
  }
  std::vector<int8_t> Weights(int64_t count) {
    std::vector<int8_t> drawn(count);
    for (int8_t& code : drawn) code = static_cast<int8_t>(Next(static_cast<uint8_t>(-128)));
    return drawn;
  }
  std::vector<int32_t> ZeroPoints(int64_t channels) {
    std::vector<int32_t> drawn(channels);
    for (int32_t& zero_point : drawn) zero_point = static_cast<int8_t>(Next(127));
    return drawn;
  }
  // Small biases, biases as large as the sums, and the largest that there can be.
  static std::vector<int32_t> Bias(int64_t channels) {
    constexpr int32_t kOf[] = {0,      1,         -3,       1000,      -77777,
                               999999, -16777216, 33554436, 123456000, -kLargestBiasCode,
                               12345,  -5,        7,        -1,        kLargestBiasCode};
    std::vector<int32_t> bias(channels);
    for (int64_t c = 0; c < channels; ++c) bias[c] = kOf[c % std::size(kOf)];
    return bias;
  }

 private:
  uint8_t Next(uint8_t largest) {
    state_ = state_ * 1664525u + 1013904223u;
    return codes_ == Codes::kLargest ? largest : static_cast<uint8_t>(state_ >> 24);
  }

  Codes codes_;
  uint32_t state_ = 12345;
};

std::vector<float> ScalesOf(int64_t channels) {
  std::vector<float> scales(channels);
  for (int64_t c = 0; c < channels; ++c) scales[c] = 0.0003f * static_cast<float>(c + 1);
  return scales;
}

// What 64 bits hold of each output element: the sum of its products, and of the inputs in them.
struct PlainSum {
  int64_t products = 0;
  int64_t inputs = 0;

  void Add(int64_t input, int64_t weight) {
    products += input * weight;
    inputs += input;
  }
};

struct Problem {
  CodingCase coding;
  std::vector<uint8_t> inputs;
  std::vector<int8_t> weights;
  std::vector<int32_t> zero_points;  // of weights
  std::vector<PlainSum> sums;
  int64_t channels;
};

// Compares floats, and codes after an epilogue, of a kernel that is planned for `coding`.
template <typename Plan>
void ExpectExactSums(const Plan& plan, const Problem& problem, const SumCoding& coding) {
  const int64_t channels = problem.channels;
  const std::vector<float> scales = ScalesOf(channels);
  const std::vector<int32_t> bias = Draws::Bias(channels);
  SumOperands operands{problem.inputs, {}, scales, problem.coding.zero_point};
  if (coding.has_bias) operands.bias = bias;
  if (coding.has_weight_zero_points) operands.weight_zero_points = problem.zero_points;
  std::vector<float> expected(problem.sums.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) % channels;
    int64_t sum = problem.sums[i].products;
    if (coding.has_bias) sum += bias[c];
    if (coding.has_weight_zero_points) sum -= problem.zero_points[c] * problem.sums[i].inputs;
    expected[i] = static_cast<float>(sum) * scales[c];
  }
  const auto numbers = plan(coding, Epilogue(), OutputType::kFloat);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  const std::vector<uint8_t> packed = Packed(**numbers, problem.weights);
  operands.weights = packed;
  std::vector<float> out(expected.size());
  for (int run = 0; run < 2; ++run) {
    std::fill(out.begin(), out.end(), -1.0f);
    (*numbers)->Run(operands, absl::MakeSpan(out));
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i]) << i;
  }

  using Kind = EpilogueStage::Kind;
  std::vector<float> factors(channels);
  for (int64_t c = 0; c < channels; ++c) factors[c] = 0.01f * static_cast<float>(c % 5 - 1);
  std::vector<float> addends(expected.size());
  for (size_t i = 0; i < addends.size(); ++i) addends[i] = static_cast<float>(i % 17) - 3;
  const absl::Span<const float> stage_operands[] = {factors, {}, {}, addends};
  operands.epilogue = stage_operands;
  const Epilogue folded = {{Kind::kMultiplyChannel}, {Kind::kRelu}, {Kind::kMultiply, 0.37f}};
  for (const bool adds_elements : {false, true}) {
    Epilogue epilogue = folded;
    if (adds_elements) epilogue.push_back({Kind::kAddElement});
    operands.epilogue = absl::MakeSpan(stage_operands, epilogue.size());
    const auto codes = plan(coding, epilogue, OutputType::kUint8);
    ASSERT_TRUE(codes.ok()) << codes.status();
    const std::vector<uint8_t> packed_for_codes = Packed(**codes, problem.weights);
    operands.weights = packed_for_codes;
    std::vector<uint8_t> stored(expected.size());
    (*codes)->Run(operands, absl::MakeSpan(stored));
    for (size_t i = 0; i < stored.size(); ++i) {
      float x = std::max(expected[i] * factors[i % channels], 0.0f) * 0.37f;
      if (adds_elements) x += addends[i];
      ASSERT_EQ(stored[i], std::nearbyint(std::min(std::max(x, 0.0f), 255.0f))) << i;
    }
  }
}

template <typename Plan>
void ExpectExact(const Plan& plan, const Problem& problem) {
  const SumCoding inputs = problem.coding.coding;
  for (const SumCoding& coding : {inputs.WithBias(), inputs.WithWeightZeroPoints(),
                                  inputs.WithWeightZeroPoints().WithBias()}) {
    SCOPED_TRACE(testing::Message() << "bias " << coding.has_bias << ", zero points of weights "
                                    << coding.has_weight_zero_points);
    ExpectExactSums(plan, problem, coding);
  }
}

void ExpectExactConvolution(const ConvolutionShape& shape, const CodingCase& coding, Codes codes) {
  Draws draws(codes);
  Problem problem = {coding,
                     draws.Inputs(shape.input_size(), coding),
                     draws.Weights(shape.filter_size()),
                     draws.ZeroPoints(shape.filters),
                     std::vector<PlainSum>(shape.output_size()),
                     shape.filters};
  ForEachTap(shape, [&](int64_t out, int64_t x, int64_t tap) {
    problem.sums[out].Add(problem.coding.NumberOf(problem.inputs[x]), problem.weights[tap]);
  });
  const auto plan = [&](const SumCoding& of_sums, const Epilogue& epilogue, OutputType output) {
    return PlanIntegerConvolution(shape, of_sums, epilogue, output);
  };
  ExpectExact(plan, problem);
}

class ExactSums : public testing::TestWithParam<std::tuple<ConvolutionCase, CodingCase, Codes>> {};

TEST_P(ExactSums, OfConvolutions) {
  const auto& [test, coding, codes] = GetParam();
  ExpectExactConvolution(test.shape, coding, codes);
}

TEST_P(ExactSums, OfTransposedConvolutions) {
  const auto& [test, coding, codes] = GetParam();
  const ConvolutionShape& shape = test.shape;
  Draws draws(codes);
  Problem problem = {coding,
                     draws.Inputs(shape.output_size(), coding),
                     draws.Weights(shape.filter_size()),
                     draws.ZeroPoints(shape.channels),
                     std::vector<PlainSum>(shape.input_size()),
                     shape.channels};
  ForEachTap(shape, [&](int64_t input, int64_t out, int64_t tap) {
    problem.sums[out].Add(problem.coding.NumberOf(problem.inputs[input]), problem.weights[tap]);
  });
  const auto plan = [&](const SumCoding& of_sums, const Epilogue& epilogue, OutputType output) {
    return PlanIntegerTransposedConvolution(shape, of_sums, epilogue, output);
  };
  ExpectExact(plan, problem);
}

std::string NameOf(const testing::TestParamInfo<ExactSums::ParamType>& info) {
  const auto& [test, coding, codes] = info.param;
  return test.name + coding.name + (codes == Codes::kMixed ? "Mixed" : "Largest");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactSums,
                         testing::Combine(testing::ValuesIn(SmallIntegerConvolutionCases()),
                                          testing::ValuesIn(CodingCases()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         NameOf);

// With a zero point and without.
std::vector<CodingCase> TwoCodings() {
  return {SymmetricCodings().front(), AffineCodings().front()};
}

INSTANTIATE_TEST_SUITE_P(LargeShapes, ExactSums,
                         testing::Combine(testing::ValuesIn(LargeIntegerConvolutionCases()),
                                          testing::ValuesIn(TwoCodings()),
                                          testing::Values(Codes::kMixed)),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(StickingOut, ExactSums,
                         testing::Combine(testing::ValuesIn(StickingOutConvolutionCases()),
                                          testing::ValuesIn(TwoCodings()),
                                          testing::Values(Codes::kMixed)),
                         NameOf);

void ExpectExactProduct(const ProductShape& shape, const CodingCase& coding, Codes codes) {
  Draws draws(codes);
  Problem problem = {coding,
                     draws.Inputs(shape.x_size(), coding),
                     draws.Weights(shape.y_size()),
                     draws.ZeroPoints(shape.columns),
                     std::vector<PlainSum>(shape.out_size()),
                     shape.columns};
  for (int64_t matrix = 0; matrix < shape.batch; ++matrix) {
    const uint8_t* const x = &problem.inputs[matrix * shape.rows * shape.inner];
    const int8_t* const y = &problem.weights[matrix * shape.inner * shape.columns];
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t column = 0; column < shape.columns; ++column) {
        PlainSum& sum = problem.sums[(matrix * shape.rows + row) * shape.columns + column];
        for (int64_t k = 0; k < shape.inner; ++k) {
          sum.Add(
              coding.NumberOf(x[shape.transpose_x ? k * shape.rows + row : row * shape.inner + k]),
              y[shape.transpose_y ? column * shape.inner + k : k * shape.columns + column]);
        }
      }
    }
  }
  const auto plan = [&](const SumCoding& of_sums, const Epilogue& epilogue, OutputType output) {
    return PlanIntegerProduct(shape, of_sums, epilogue, output);
  };
  ExpectExact(plan, problem);
}

// Floats hold every sum of 514 products of codes, and fewer the more there are.
TEST(IntegerSums, OfProductsAreExactHoweverManyThereAre) {
  const ProductShape shapes[] = {{1, 1, 1, 1},
                                 {1, 3, 512, 17},
                                 {1, 4, 514, 16, false, true},
                                 {1, 4, 515, 16},
                                 {3, 5, 40, 7},
                                 {2, 5, 700, 33, true, true},
                                 {1, 2, 2000, 5},
                                 {1, 1, 8000, 2},
                                 {1, 17, 65, 37},
                                 {1, 1, 99, 85},
                                 {1, 9, 66, 24, false, true}};
  for (const ProductShape& shape : shapes) {
    for (const CodingCase& coding : CodingCases()) {
      for (const Codes codes : {Codes::kMixed, Codes::kLargest}) {
        SCOPED_TRACE(coding.name);
        ExpectExactProduct(shape, coding, codes);
      }
    }
  }
}

// Sizes that loops before and after the products share out among threads, and parts that begin
// within a matrix and within an image.
TEST(IntegerSums, AreExactOnAnyNumberOfThreads) {
  ConvolutionShape convolution;
  convolution.batch = 2;
  convolution.channels = convolution.filters = 4;
  convolution.groups = 2;
  convolution.height = convolution.width = 151;
  convolution.window = {WindowAxis{3, 1, 1, 1, 1}, WindowAxis{3, 1, 1, 1, 1}};
  ASSERT_TRUE(CompleteShape(&convolution).ok());
  ConvolutionShape of_one_image;
  of_one_image.channels = of_one_image.filters = 16;
  of_one_image.height = 35;
  of_one_image.width = 32;
  of_one_image.window = convolution.window;
  ASSERT_TRUE(CompleteShape(&of_one_image).ok());
  const int granted = GrantedThreads();
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    for (const CodingCase& coding : TwoCodings()) {
      SCOPED_TRACE(testing::Message() << coding.name << ", " << threads << " threads");
      ExpectExactProduct({2, 401, 2100, 2, /*transpose_x=*/true}, coding, Codes::kMixed);
      ExpectExactConvolution(convolution, coding, Codes::kMixed);
      ExpectExactConvolution(of_one_image, coding, Codes::kMixed);
    }
  }
  UseThreads(granted);
}

TEST(IntegerSumsDeathTest, OfOtherOutputsThanPlanned) {
  const auto sums = PlanIntegerProduct({1, 64, 64, 8}, CodeType::kUint8);
  ASSERT_TRUE(sums.ok()) << sums.status();
  const std::vector<uint8_t> inputs(64 * 64);
  const std::vector<uint8_t> packed = Packed(**sums, std::vector<int8_t>(64 * 8));
  const std::vector<float> scales(8);
  const SumOperands operands{inputs, packed, scales};
  std::vector<float> too_many(64 * 8 + 1);
  EXPECT_DEATH((*sums)->Run(operands, absl::MakeSpan(too_many)), "513 vs. 512");
  std::vector<uint8_t> codes(64 * 8);
  EXPECT_DEATH((*sums)->Run(operands, absl::MakeSpan(codes)), "out.type");
}

TEST(IntegerSums, RefuseWhat32BitsDoNotHold) {
  const auto plan = [](int64_t products, const SumCoding& coding) {
    return PlanIntegerProduct({1, 1, products, 1}, coding).status();
  };
  const SumCoding uint8(CodeType::kUint8);
  const SumCoding int8(CodeType::kInt8);
  EXPECT_TRUE(plan(32896, uint8.WithBias()).ok());
  EXPECT_EQ(plan(32897, uint8.WithBias()),
            absl::InvalidArgumentError(
                "a product with 32897 products in a sum; want fewer, so that a sum of products of "
                "codes fits in 32 bits with its bias"));
  EXPECT_TRUE(plan(65535, int8.WithBias()).ok());
  EXPECT_FALSE(plan(65536, int8.WithBias()).ok());
  EXPECT_TRUE(plan(33025, uint8.WithWeightZeroPoints()).ok());
  EXPECT_FALSE(plan(33026, uint8.WithWeightZeroPoints()).ok());
  EXPECT_TRUE(plan(65793, int8.WithWeightZeroPoints()).ok());
  EXPECT_FALSE(plan(65794, int8.WithWeightZeroPoints()).ok());
}

// Wide codes from -farthest to farthest - 1 that look random, or all -farthest.
std::vector<int16_t> WideCodes(int64_t count, Codes codes, int32_t farthest, uint32_t state) {
  std::vector<int16_t> drawn(count);
  for (int16_t& code : drawn) {
    state = state * 1664525u + 1013904223u;
    const auto place = static_cast<int32_t>(state >> 8) % (2 * farthest);
    code = static_cast<int16_t>(codes == Codes::kLargest ? -farthest : place - farthest);
  }
  return drawn;
}

struct WideCase {
  const char* name;
  std::variant<ConvolutionShape, ProductShape> shape;
};

std::vector<WideCase> WideCases() {
  const auto images = [](int64_t channels, int64_t filters, int64_t groups, Window window) {
    return ConvolutionShape{2, channels, 7, 5, filters, groups, window};
  };
  const WindowAxis same = {3, 1, 1, 1, 1};
  const WindowAxis strided = {2, 2, 1, 0, 1};
  const WindowAxis dilated = {2, 1, 3, 1, 0};
  return {
      {"convolution", images(3, 8, 1, {same, same})},
      {"strided", images(4, 5, 1, {strided, same})},
      {"dilated groups", images(4, 6, 2, {dilated, same})},
      {"depthwise", images(6, 6, 6, {same, same})},
      {"product", ProductShape{1, 5, 301, 9}},
      {"more rows than a block has", ProductShape{1, 3000, 3, 9}},
      {"transposed matrices", ProductShape{3, 4, 7, 6, true, true}},
  };
}

// The elements that are multiplied for an output, from the definition of each op.
template <typename F>
void ForEachWideTerm(const ConvolutionShape& s, F f) {
  const WindowAxis& v = s.window[0];
  const WindowAxis& h = s.window[1];
  const int64_t of_group = s.channels / s.groups;
  int64_t out = 0;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t y = 0; y < s.out_height; ++y) {
      for (int64_t x = 0; x < s.out_width; ++x) {
        for (int64_t o = 0; o < s.filters; ++o, ++out) {
          for (int64_t k = 0; k < s.taps(); ++k) {
            const int64_t column = k % h.kernel;
            const int64_t row = k / h.kernel % v.kernel;
            const int64_t c = k / h.kernel / v.kernel + o / (s.filters / s.groups) * of_group;
            const int64_t in_y = y * v.stride - v.pad_before + row * v.dilation;
            const int64_t in_x = x * h.stride - h.pad_before + column * h.dilation;
            if (in_y < 0 || in_y >= s.height || in_x < 0 || in_x >= s.width) continue;
            f(out, ((n * s.height + in_y) * s.width + in_x) * s.channels + c, o * s.taps() + k);
          }
        }
      }
    }
  }
}

template <typename F>
void ForEachWideTerm(const ProductShape& s, F f) {
  for (int64_t out = 0; out < s.out_size(); ++out) {
    const int64_t column = out % s.columns;
    const int64_t row = out / s.columns % s.rows;
    const int64_t b = out / s.columns / s.rows;
    for (int64_t k = 0; k < s.inner; ++k) {
      const int64_t x = s.transpose_x ? k * s.rows + row : row * s.inner + k;
      const int64_t y = s.transpose_y ? column * s.inner + k : k * s.columns + column;
      f(out, b * s.rows * s.inner + x, b * s.inner * s.columns + y);
    }
  }
}

int64_t InputSizeOf(const ConvolutionShape& s) { return s.input_size(); }
int64_t InputSizeOf(const ProductShape& s) { return s.x_size(); }
int64_t WeightSizeOf(const ConvolutionShape& s) { return s.filter_size(); }
int64_t WeightSizeOf(const ProductShape& s) { return s.y_size(); }
int64_t ChannelsOf(const ConvolutionShape& s) { return s.filters; }
int64_t ChannelsOf(const ProductShape& s) { return s.columns; }
int64_t OutSizeOf(const ConvolutionShape& s) { return s.output_size(); }
int64_t OutSizeOf(const ProductShape& s) { return s.out_size(); }

absl::Status Completed(ConvolutionShape* shape) { return CompleteShape(shape); }
absl::Status Completed(ProductShape* shape) { return CheckShape(*shape); }

template <typename Shape>
void ExpectWideSums(Shape shape, Codes codes, int32_t farthest) {
  ASSERT_TRUE(Completed(&shape).ok());
  const std::vector<int16_t> inputs = WideCodes(InputSizeOf(shape), codes, farthest, 1);
  const std::vector<int16_t> weights = WideCodes(WeightSizeOf(shape), codes, farthest, 2);
  const std::vector<float> scales = ScalesOf(ChannelsOf(shape));
  std::vector<int64_t> sums(OutSizeOf(shape));
  ForEachWideTerm(shape, [&](int64_t out, int64_t i, int64_t w) {
    sums[out] += int64_t{inputs[i]} * weights[w];
  });
  using Kind = EpilogueStage::Kind;
  const auto kernel = WideSums::Plan(
      shape, {{Kind::kAddChannel}, {Kind::kAdd, 3}, {Kind::kAddElement}, {Kind::kMultiplyChannel}});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::vector<uint8_t> packed = Packed<int16_t>(**kernel, weights);
  std::vector<float> out(sums.size());
  std::vector<float> elements(sums.size());
  std::iota(elements.begin(), elements.end(), -5.0f);
  const std::vector<absl::Span<const float>> operands = {scales, {}, elements, scales};
  (*kernel)->Run({inputs, packed, scales, operands}, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    const float scale = scales[i % scales.size()];
    ASSERT_EQ(out[i], (static_cast<float>(sums[i]) * scale + scale + 3 + elements[i]) * scale) << i;
  }
}

// 256 products of two codes that are 2896 from 0 just fit in 32 bits.
TEST(WideSumsTest, AreThoseOf64Bits) {
  for (const WideCase& c : WideCases()) {
    SCOPED_TRACE(c.name);
    for (const int32_t farthest : {256, 2896, 2897, 32768}) {
      for (const Codes codes : {Codes::kMixed, Codes::kLargest}) {
        std::visit([&](const auto& shape) { ExpectWideSums(shape, codes, farthest); }, c.shape);
      }
    }
  }
}

TEST(WideSumsTest, HaveNoMoreProductsThanADoubleHolds) {
  const auto kernel = WideSums::Plan(ProductShape{1, 1, kMostWideProducts + 1, 1}, {});
  EXPECT_EQ(kernel.status().message(),
            "a sum has 8388609 products of wide codes; want at most 8388608");
}

}  // namespace
}  // namespace fixpoint::kernels
