// Sums with a bias in int32 against plain loops in 64 bits: what is rounded is the integer of both.

#include "runtime/kernels/biased_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/bias_codes.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_transposed_convolution.h"
#include "runtime/kernels/packing.h"
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
  // Small ones, as large as sums are, and as large as they can be.
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

// Numbers, and codes after an epilogue, of sums of which 64 bits hold all.
template <typename Plan>
void ExpectExact(const Plan& plan, const CodingCase& coding, const std::vector<uint8_t>& inputs,
                 const std::vector<int8_t>& weights, const std::vector<int64_t>& sums,
                 int64_t channels) {
  const std::vector<int32_t> bias = Draws::Bias(channels);
  const std::vector<float> scales = ScalesOf(channels);
  ASSERT_TRUE(CheckBias(bias).ok());
  std::vector<float> expected(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    expected[i] = static_cast<float>(sums[i] + bias[i % channels]) * scales[i % channels];
  }
  const auto numbers = plan(Epilogue(), OutputType::kFloat);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  const std::vector<uint8_t> packed = Packed(**numbers, weights);
  std::vector<float> out(sums.size());
  for (int run = 0; run < 2; ++run) {
    std::fill(out.begin(), out.end(), -1.0f);
    (*numbers)->Run(inputs, coding.zero_point, packed, bias, scales, {}, absl::MakeSpan(out));
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i]) << i;
  }

  using Kind = EpilogueStage::Kind;
  const Epilogue epilogue = {{Kind::kMultiplyChannel}, {Kind::kRelu}, {Kind::kMultiply, 0.37f}};
  const auto codes = plan(epilogue, OutputType::kUint8);
  ASSERT_TRUE(codes.ok()) << codes.status();
  std::vector<float> factors(channels);
  for (int64_t c = 0; c < channels; ++c) factors[c] = 0.01f * static_cast<float>(c % 5 - 1);
  std::vector<uint8_t> stored(sums.size());
  const absl::Span<const float> operands[] = {factors, {}, {}};
  (*codes)->Run(inputs, coding.zero_point, Packed(**codes, weights), bias, scales, operands,
                absl::MakeSpan(stored));
  for (size_t i = 0; i < stored.size(); ++i) {
    const float x = std::max(expected[i] * factors[i % channels], 0.0f) * 0.37f;
    ASSERT_EQ(stored[i], std::nearbyint(std::min(x, 255.0f))) << i;
  }
}

class Biased : public testing::TestWithParam<std::tuple<ConvolutionCase, CodingCase, Codes>> {};

TEST_P(Biased, ConvolutionIsExact) {
  const auto& [test, coding, codes] = GetParam();
  const ConvolutionShape& shape = test.shape;
  Draws draws(codes);
  const std::vector<uint8_t> images = draws.Inputs(shape.input_size(), coding);
  const std::vector<int8_t> filters = draws.Weights(shape.filter_size());
  std::vector<int64_t> sums(shape.output_size(), 0);
  ForEachTap(shape, [&, &number_of = coding](int64_t out, int64_t x, int64_t tap) {
    sums[out] += int64_t{number_of.NumberOf(images[x])} * filters[tap];
  });
  const auto plan = [&, &coded = coding](const Epilogue& epilogue, OutputType output) {
    return PlanBiasedConvolution(shape, coded.coding, epilogue, output);
  };
  ExpectExact(plan, coding, images, filters, sums, shape.filters);
}

TEST_P(Biased, TransposedConvolutionIsExact) {
  const auto& [test, coding, codes] = GetParam();
  const ConvolutionShape& shape = test.shape;
  Draws draws(codes);
  const std::vector<uint8_t> inputs = draws.Inputs(shape.output_size(), coding);
  const std::vector<int8_t> filters = draws.Weights(shape.filter_size());
  std::vector<int64_t> sums(shape.input_size(), 0);
  ForEachTap(shape, [&, &number_of = coding](int64_t input, int64_t out, int64_t tap) {
    sums[out] += int64_t{number_of.NumberOf(inputs[input])} * filters[tap];
  });
  const auto plan = [&, &coded = coding](const Epilogue& epilogue, OutputType output) {
    return PlanBiasedTransposedConvolution(shape, coded.coding, epilogue, output);
  };
  ExpectExact(plan, coding, inputs, filters, sums, shape.channels);
}

std::string NameOf(const testing::TestParamInfo<Biased::ParamType>& info) {
  const auto& [test, coding, codes] = info.param;
  return test.name + coding.name + (codes == Codes::kMixed ? "Mixed" : "Largest");
}

INSTANTIATE_TEST_SUITE_P(Shapes, Biased,
                         testing::Combine(testing::ValuesIn(SmallIntegerConvolutionCases()),
                                          testing::ValuesIn(CodingCases()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         NameOf);

// With a zero point and without.
std::vector<CodingCase> TwoCodings() {
  return {SymmetricCodings().front(), AffineCodings().front()};
}

INSTANTIATE_TEST_SUITE_P(LargeShapes, Biased,
                         testing::Combine(testing::ValuesIn(LargeIntegerConvolutionCases()),
                                          testing::ValuesIn(TwoCodings()),
                                          testing::Values(Codes::kMixed)),
                         NameOf);

void ExpectExactProduct(const ProductShape& shape, const CodingCase& coding, Codes codes) {
  Draws draws(codes);
  const std::vector<uint8_t> x = draws.Inputs(shape.x_size(), coding);
  const std::vector<int8_t> y = draws.Weights(shape.y_size());
  std::vector<int64_t> sums(shape.out_size(), 0);
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int64_t column = 0; column < shape.columns; ++column) {
      for (int64_t k = 0; k < shape.inner; ++k) {
        const int64_t weight =
            shape.transpose_y ? column * shape.inner + k : k * shape.columns + column;
        sums[row * shape.columns + column] +=
            int64_t{coding.NumberOf(x[row * shape.inner + k])} * y[weight];
      }
    }
  }
  const auto plan = [&](const Epilogue& epilogue, OutputType output) {
    return PlanBiasedProduct(shape, coding.coding, epilogue, output);
  };
  ExpectExact(plan, coding, x, y, sums, shape.columns);
}

// Floats hold every sum of 512 products of codes, and fewer the more there are.
TEST(BiasedSums, AreExactHoweverManyProductsThereAre) {
  const ProductShape shapes[] = {{1, 1, 1, 1},
                                 {1, 3, 512, 17},
                                 {1, 4, 514, 16, false, true},
                                 {1, 2, 2000, 5},
                                 {1, 1, 8000, 2}};
  for (const ProductShape& shape : shapes) {
    for (const CodingCase& coding : CodingCases()) {
      for (const Codes codes : {Codes::kMixed, Codes::kLargest}) {
        SCOPED_TRACE(coding.name);
        ExpectExactProduct(shape, coding, codes);
      }
    }
  }
}

TEST(BiasedSums, RefuseWhat32BitsDoNotHold) {
  EXPECT_TRUE(PlanBiasedProduct({1, 1, 32896, 1}, CodeType::kUint8).ok());
  EXPECT_EQ(PlanBiasedProduct({1, 1, 32897, 1}, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "a product with 32897 products in a sum; want fewer, so that a sum of products of "
                "codes fits in 32 bits with its bias"));
  EXPECT_TRUE(PlanBiasedProduct({1, 1, 65535, 1}, CodeType::kInt8).ok());
  EXPECT_FALSE(PlanBiasedProduct({1, 1, 65536, 1}, CodeType::kInt8).ok());
}

TEST(BiasedSums, HaveABiasThatFloatsHold) {
  EXPECT_TRUE(CheckBias({0, -5, 1 << 24, (1 << 24) + 2, kLargestBiasCode, -kLargestBiasCode}).ok());
  EXPECT_EQ(CheckBias({0, (1 << 24) + 1}),
            absl::InvalidArgumentError("a bias is 16777217; want -1073741824 to 1073741824, of the "
                                       "integers that FP32 holds"));
  EXPECT_FALSE(CheckBias({INT32_MAX}).ok());
  EXPECT_FALSE(CheckBias({INT32_MIN}).ok());
  EXPECT_FALSE(CheckBias({-kLargestBiasCode - 128}).ok());
}

}  // namespace
}  // namespace fixpoint::kernels
