// Against sums in 64 bits.

#include "runtime/kernels/row_wise_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

struct Problem {
  ProductShape shape;
  CodeType type;
  std::vector<uint8_t> x;
  std::vector<int8_t> y;  // [inner, columns], or transposed
  std::vector<int32_t> zero_points;
  std::vector<int32_t> bias;
  std::vector<float> scales;
};

int32_t DrawnCode(const RandomStream& random, int64_t i, int32_t smallest, int32_t largest) {
  return smallest + static_cast<int32_t>(random.Uniform(i) * (largest - smallest + 1));
}

Problem Draw(const ProductShape& shape, CodeType type, bool are_largest) {
  const RandomStream random(7, static_cast<uint32_t>(shape.inner), 0);
  Problem problem;
  problem.shape = shape;
  problem.type = type;
  const int32_t smallest = type == CodeType::kInt8 ? -128 : 0;
  const int32_t largest = type == CodeType::kInt8 ? 127 : 255;
  for (int64_t i = 0; i < shape.x_size(); ++i) {
    const int32_t code =
        are_largest ? (smallest < 0 ? smallest : largest) : DrawnCode(random, i, smallest, largest);
    problem.x.push_back(static_cast<uint8_t>(code));
  }
  for (int64_t i = 0; i < shape.y_size(); ++i) {
    problem.y.push_back(
        static_cast<int8_t>(are_largest ? -128 : DrawnCode(random, 1000000 + i, -128, 127)));
  }
  for (int64_t c = 0; c < shape.columns; ++c) {
    problem.zero_points.push_back(are_largest ? 127 : DrawnCode(random, 2000000 + c, -128, 127));
    problem.bias.push_back(are_largest ? 0 : DrawnCode(random, 3000000 + c, -100000, 100000));
    problem.scales.push_back(static_cast<float>(0.001 * (1 + random.Uniform(4000000 + c))));
  }
  return problem;
}

int64_t SumOf(const Problem& problem, int64_t row, int64_t column) {
  const auto& [shape, type, x, y, zero_points, bias, scales] = problem;
  int64_t sum = 0;
  for (int64_t k = 0; k < shape.inner; ++k) {
    const uint8_t byte = x[row * shape.inner + k];
    const int64_t code = type == CodeType::kInt8 ? static_cast<int8_t>(byte) : byte;
    const int64_t weight =
        y[shape.transpose_y ? column * shape.inner + k : k * shape.columns + column];
    sum += code * (weight - zero_points[column]);
  }
  return sum;
}

std::vector<float> Multiplied(const Problem& problem, const WeightColumns& columns,
                              const Epilogue& epilogue = {}) {
  auto product = RowWiseProduct::Plan(problem.shape, problem.type, epilogue);
  EXPECT_TRUE(product.ok()) << product.status();
  std::vector<float> out(problem.shape.out_size());
  const std::vector<uint8_t> packed = Packed(**product, problem.y);
  const std::vector<absl::Span<const float>> operands(epilogue.size());
  (*product)->Run(problem.x, packed, columns, operands, absl::MakeSpan(out));
  return out;
}

TEST(RowWiseProduct, IsExact) {
  const ProductShape shapes[] = {
      {1, 1, 1, 1}, {1, 3, 7, 5}, {1, 32, 300, 17}, {1, 2, 129, 64, false, true}, {1, 5, 20000, 3}};
  for (const ProductShape& shape : shapes) {
    for (const CodeType type : {CodeType::kUint8, CodeType::kInt8}) {
      for (const bool are_largest : {false, true}) {
        const Problem problem = Draw(shape, type, are_largest);
        const std::vector<float> plain =
            Multiplied(problem, {problem.scales, problem.zero_points, {}, {}});
        const std::vector<float> biased =
            Multiplied(problem, {problem.scales, problem.zero_points, problem.bias, {}});
        for (int64_t i = 0; i < shape.out_size(); ++i) {
          const int64_t column = i % shape.columns;
          const int64_t sum = SumOf(problem, i / shape.columns, column);
          const float scale = problem.scales[column];
          ASSERT_EQ(plain[i], static_cast<float>(sum) * scale) << i;
          ASSERT_EQ(biased[i], static_cast<float>(sum + problem.bias[column]) * scale) << i;
        }
      }
    }
  }
}

TEST(RowWiseProduct, AddsNumbersAfterTheScale) {
  const Problem problem = Draw({1, 4, 50, 6}, CodeType::kInt8, false);
  const std::vector<float> addends = {1, -2, 3, -4, 5, -6};
  const std::vector<float> out = Multiplied(
      problem, {problem.scales, problem.zero_points, {}, addends}, {{EpilogueStage::Kind::kRelu}});
  for (int64_t i = 0; i < problem.shape.out_size(); ++i) {
    const float sum = static_cast<float>(SumOf(problem, i / 6, i % 6)) * problem.scales[i % 6];
    const float shifted = sum + addends[i % 6];
    EXPECT_EQ(out[i], shifted > 0 ? shifted : 0) << i;
  }
}

TEST(RowWiseProduct, StoresCodes) {
  const Problem problem = Draw({1, 4, 50, 6}, CodeType::kUint8, false);
  const Epilogue epilogue = {{EpilogueStage::Kind::kMultiply, 0.25f}};
  auto product = RowWiseProduct::Plan(problem.shape, problem.type, epilogue, OutputType::kInt8);
  ASSERT_TRUE(product.ok());
  const std::vector<uint8_t> packed = Packed(**product, problem.y);
  std::vector<int8_t> codes(problem.shape.out_size());
  const absl::Span<const float> operands[1];
  (*product)->Run(problem.x, packed, {problem.scales, problem.zero_points, {}, {}}, operands,
                  absl::MakeSpan(codes));
  const std::vector<float> numbers =
      Multiplied(problem, {problem.scales, problem.zero_points, {}, {}});
  for (size_t i = 0; i < codes.size(); ++i) {
    const float code = std::nearbyint(numbers[i] * 0.25f);
    EXPECT_EQ(codes[i], code > 127 ? 127 : code < -128 ? -128 : code) << i;
  }
}

TEST(RowWiseProduct, RefusesSumsThat32BitsDoNotHold) {
  EXPECT_TRUE(RowWiseSumsFit(33025, CodeType::kUint8));
  EXPECT_FALSE(RowWiseSumsFit(33026, CodeType::kUint8));
  EXPECT_TRUE(RowWiseSumsFit(65793, CodeType::kInt8));
  EXPECT_EQ(
      RowWiseProduct::Plan({1, 1, 40000, 1}, CodeType::kUint8).status(),
      absl::InvalidArgumentError("a row-wise product with 40000 products in a sum; want "
                                 "fewer, so that a sum of products of codes fits in 32 bits"));
}

}  // namespace
}  // namespace fixpoint::kernels
