// Products of matrices, of floats and of codes, against plain loops in double and in 64 bits.

#include "runtime/kernels/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/bfloat16_product.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/threads.h"
#include "tests/runtime/kernels/bfloat16_values.h"
#include "tests/runtime/kernels/coding_cases.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  ProductShape shape;
};

std::vector<Case> Cases(int64_t longest_sum = 65793) {
  return {
      {"Plain", {1, 5, 67, 19, false, false}},
      {"TransposedX", {1, 16, 32, 24, true, false}},
      {"TransposedY", {1, 16, 32, 24, false, true}},
      {"TransposedBoth", {1, 7, 9, 11, true, true}},
      {"OneRow", {1, 1, 128, 10, false, false}},
      {"OneColumn", {1, 6, 13, 1, false, false}},
      {"Batched", {6, 8, 16, 12, false, true}},
      {"BatchedPlain", {3, 33, 35, 17, false, false}},
      {"BatchedTransposedX", {2, 9, 7, 5, true, false}},
      {"BatchedTransposedBoth", {3, 34, 17, 33, true, true}},
      {"BatchedHeads", {4, 64, 64, 64, false, true}},
      // More than floats add exactly, if all codes are the largest.
      {"LongSums", {1, 3, 1500, 4, false, false}},
      // As many products as fit in 32 bits, whatever they are.
      {"LongestSums", {1, 2, longest_sum, 2, false, true}},
  };
}

// Calls f(out, x, y) with the places of each output element and of what is multiplied for it.
template <typename F>
void ForEachTerm(const ProductShape& shape, F f) {
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t j = 0; j < shape.columns; ++j) {
        for (int64_t k = 0; k < shape.inner; ++k) {
          const int64_t x = shape.transpose_x ? k * shape.rows + i : i * shape.inner + k;
          const int64_t y = shape.transpose_y ? j * shape.inner + k : k * shape.columns + j;
          f((b * shape.rows + i) * shape.columns + j, b * shape.rows * shape.inner + x,
            b * shape.inner * shape.columns + y);
        }
      }
    }
  }
}

class FloatProducts : public testing::TestWithParam<Case> {};

TEST_P(FloatProducts, EqualPlainLoops) {
  const ProductShape& shape = GetParam().shape;
  std::vector<float> x(shape.x_size());
  std::vector<float> y(shape.y_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7f * static_cast<float>(i));
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::cos(0.3f * static_cast<float>(i));
  const auto product = Product::Plan(shape);
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ((*product)->implementation().find("ref"), std::string::npos)
      << (*product)->implementation();
  std::vector<float> out(shape.out_size());
  (*product)->Run(x, Packed(**product, y), {}, absl::MakeSpan(out));
  std::vector<double> expected(out.size(), 0);
  ForEachTerm(shape, [&](int64_t out_i, int64_t x_i, int64_t y_i) {
    expected[out_i] += double{x[x_i]} * y[y_i];
  });
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], 1e-6 * static_cast<double>(shape.inner)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FloatProducts, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// Long sums of few results, which oneDNN splits among threads.
std::vector<Case> CasesOfLongSums() {
  return {
      {"Gradient", {1, 64, 3000, 48, true, false}},
      {"GradientOfColumns", {1, 20, 3000, 80, true, false}},
      {"GradientOfBoth", {1, 48, 3000, 96, true, true}},
      {"GradientOfMatrices", {3, 40, 2500, 24, true, false}},
      {"OneRow", {1, 1, 2048, 1000, false, false}},
      {"FewRows", {1, 8, 9216, 64, false, false}},
      {"TransposedY", {1, 70, 2048, 33, false, true}},
  };
}

class ProductsOnThreads : public testing::TestWithParam<Case> {
 protected:
  // Of Product or Bfloat16Product.
  template <typename Kernel, typename T, typename Run>
  static std::vector<float> On(int threads, std::vector<T> y, Run run) {
    const ThreadsInUse in_use(threads);
    const auto product = Kernel::Plan(GetParam().shape);
    EXPECT_TRUE(product.ok()) << product.status();
    std::vector<float> out(GetParam().shape.out_size());
    run(**product, Packed(**product, y), absl::MakeSpan(out));
    return out;
  }

  static std::vector<float> Numbers(int64_t size, float step) {
    std::vector<float> numbers(size);
    for (int64_t i = 0; i < size; ++i) numbers[i] = std::sin(step * static_cast<float>(i));
    return numbers;
  }

  const std::vector<float> x_ = Numbers(GetParam().shape.x_size(), 0.7f);
  const std::vector<float> y_ = Numbers(GetParam().shape.y_size(), 0.3f);
};

TEST_P(ProductsOnThreads, HaveTheSameBits) {
  const auto run = [&](Product& product, const std::vector<uint8_t>& y, absl::Span<float> out) {
    product.Run(x_, y, {}, out);
  };
  const std::vector<float> on_one = On<Product>(1, y_, run);
  for (const int threads : {2, 3, 4, 7}) EXPECT_EQ(On<Product>(threads, y_, run), on_one);
}

TEST_P(ProductsOnThreads, HaveTheSameBitsInBfloat16) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  const std::vector<Bfloat16> x = InBfloat16(x_);
  const auto run = [&](Bfloat16Product& product, const std::vector<uint8_t>& y,
                       absl::Span<float> out) { product.Run(x, y, out); };
  const std::vector<float> on_one = On<Bfloat16Product>(1, InBfloat16(y_), run);
  for (const int threads : {2, 3, 4, 7}) {
    EXPECT_EQ(On<Bfloat16Product>(threads, InBfloat16(y_), run), on_one);
  }
}

INSTANTIATE_TEST_SUITE_P(LongSums, ProductsOnThreads, testing::ValuesIn(CasesOfLongSums()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(LongSums, FloatProducts, testing::ValuesIn(CasesOfLongSums()),
                         [](const auto& info) { return info.param.name; });

class Bfloat16Products : public testing::TestWithParam<Case> {};

TEST_P(Bfloat16Products, EqualPlainLoopsOverRoundedNumbers) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  const ProductShape& shape = GetParam().shape;
  std::vector<float> x(shape.x_size());
  std::vector<float> y(shape.y_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7f * static_cast<float>(i));
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::cos(0.3f * static_cast<float>(i));
  const std::vector<Bfloat16> rounded_x = InBfloat16(x);
  const std::vector<Bfloat16> rounded_y = InBfloat16(y);
  const auto product = Bfloat16Product::Plan(shape);
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ((*product)->implementation().find("ref"), std::string::npos)
      << (*product)->implementation();
  std::vector<float> out(shape.out_size());
  (*product)->Run(rounded_x, Packed(**product, rounded_y), absl::MakeSpan(out));
  std::vector<double> expected(out.size(), 0);
  ForEachTerm(shape, [&](int64_t out_i, int64_t x_i, int64_t y_i) {
    expected[out_i] += double{ValueOf(rounded_x[x_i])} * ValueOf(rounded_y[y_i]);
  });
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], 1e-6 * static_cast<double>(shape.inner)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(LongSums, Bfloat16Products, testing::ValuesIn(CasesOfLongSums()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, Bfloat16Products, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// Codes that look random, or all as large as they can be.
enum class Codes { kMixed, kLargest };

class ExactProducts : public testing::TestWithParam<std::tuple<Case, CodingCase, Codes>> {};

TEST_P(ExactProducts, GiveTheSumsOfPlainLoops) {
  const auto& [test, coding, codes] = GetParam();
  const ProductShape& shape = test.shape;
  uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  std::vector<uint8_t> x(shape.x_size());
  for (uint8_t& code : x) {
    const auto farthest = static_cast<uint8_t>(coding.farthest);
    code = codes == Codes::kLargest ? farthest : static_cast<uint8_t>(next() >> 24);
  }
  std::vector<int8_t> y(shape.y_size());
  for (int8_t& code : y) {
    code = codes == Codes::kLargest ? -128 : static_cast<int8_t>(next() >> 24);
  }
  const auto planned = PlanIntegerProduct(shape, coding.coding);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ((*planned)->implementation().find("ref"), std::string::npos)
      << (*planned)->implementation();
  std::vector<float> scales(shape.columns);
  for (size_t j = 0; j < scales.size(); ++j) scales[j] = 0.001f * static_cast<float>(j + 1);
  std::vector<int64_t> sums(shape.out_size(), 0);
  ForEachTerm(shape, [&, &number_of = coding](int64_t out_i, int64_t x_i, int64_t y_i) {
    sums[out_i] += int64_t{number_of.NumberOf(x[x_i])} * y[y_i];
  });
  std::vector<float> out(shape.out_size());
  for (int step = 0; step < 2; ++step) {
    (*planned)->Run({x, Packed(**planned, y), scales, coding.zero_point}, absl::MakeSpan(out));
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<float>(sums[i]) * scales[i % scales.size()]) << i;
    }
  }
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Case, CodingCase, Codes>>& info) {
  const auto& [test, coding, codes] = info.param;
  return test.name + coding.name + (codes == Codes::kMixed ? "Mixed" : "Largest");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactProducts,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::ValuesIn(SymmetricCodings()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         NameOf);

// Products with a zero point are a sum of their own.
INSTANTIATE_TEST_SUITE_P(AffineShapes, ExactProducts,
                         testing::Combine(testing::ValuesIn(Cases(/*longest_sum=*/65793 / 2)),
                                          testing::ValuesIn(AffineCodings()),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         NameOf);

// Each run would pack what other ops have computed.
TEST(Products, ReadSeveralMatricesAsTheyLie) {
  for (const bool transposed : {false, true}) {
    const ProductShape shape = {4, 32, 64, 48, false, transposed};
    EXPECT_TRUE((*Product::Plan(shape))->reads_plain_weights());
    for (const CodeType type : {CodeType::kUint8, CodeType::kInt8}) {
      const auto sums = *PlanIntegerProduct(shape, type);
      EXPECT_EQ(sums->reads_plain_weights(), HasExactIntegerProducts());
    }
  }
}

TEST(Products, OfBfloat16ReadSeveralMatricesAsTheyLie) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  for (const bool transposed : {false, true}) {
    EXPECT_TRUE(
        (*Bfloat16Product::Plan({4, 32, 64, 48, false, transposed}))->reads_plain_weights());
  }
}

TEST(Products, RefuseWhatDoesNotFit) {
  EXPECT_EQ(Product::Plan({1, 0, 2, 3, false, false}).status(),
            absl::InvalidArgumentError("x [1, 0, 2]; want extents of 1 to 2^31 - 1"));
  // As floats they have 2^64 bytes, of which a size_t keeps 0.
  EXPECT_EQ(
      Product::Plan({4, 1, 1 << 30, 1 << 30, false, false}).status(),
      absl::InvalidArgumentError("y [4, 1073741824, 1073741824]; want fewer than 2^61 elements"));
  EXPECT_EQ(
      PlanIntegerProduct({1, 1, 2, int64_t{1} << 40, false, false}, CodeType::kUint8).status(),
      absl::InvalidArgumentError("y [1, 2, 1099511627776]; want extents of 1 to 2^31 - 1"));
  EXPECT_EQ(PlanIntegerProduct({1, 1, 70000, 1, false, false}, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "a product with 70000 products in a sum; want fewer, so that a sum of products of "
                "codes fits in 32 bits"));
  EXPECT_FALSE(
      PlanIntegerProduct({1, 1, 40000, 1, false, false}, InputCoding(CodeType::kUint8, true)).ok());
}

}  // namespace
}  // namespace fixpoint::kernels
