// One row times a matrix, against sums in order with one rounding for each product, to the bit.

#include "runtime/kernels/row_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/packed_form.h"

namespace fixpoint::kernels {
namespace {

std::vector<float> Numbers(int64_t size, float step) {
  std::vector<float> numbers(size);
  for (int64_t i = 0; i < size; ++i) numbers[i] = std::sin(step * static_cast<float>(i + 1));
  return numbers;
}

class RowProductTest : public testing::TestWithParam<std::tuple<int64_t, int64_t, bool>> {};

TEST_P(RowProductTest, AddsUpInOrder) {
  const auto [inner, columns, transpose_y] = GetParam();
  const std::unique_ptr<Product> product = PlanRowProduct(inner, columns, transpose_y);
  if (product == nullptr) GTEST_SKIP() << "no instructions that multiply and add at once";
  const std::vector<float> x = Numbers(inner, 0.7F);
  const std::vector<float> y = Numbers(inner * columns, 0.3F);
  std::vector<float> out(columns, NAN);
  product->Run(x, Packed<float>(*product, y), {}, absl::MakeSpan(out));
  for (int64_t column = 0; column < columns; ++column) {
    float sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum = std::fma(x[k], y[transpose_y ? column * inner + k : k * columns + column], sum);
    }
    EXPECT_EQ(out[column], sum) << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowProductTest,
                         testing::Combine(testing::Values(1, 7, 128),
                                          testing::Values(1, 63, 64, 65, 200), testing::Bool()));

TEST(RowProductForms, AreEqualWhereTheBytesAre) {
  const std::unique_ptr<Product> product = PlanRowProduct(4, 6, false);
  if (product == nullptr) GTEST_SKIP() << "no instructions that multiply and add at once";
  EXPECT_EQ(PackedFormOf(*product), PackedFormOf(*PlanRowProduct(4, 6, false)));
  EXPECT_NE(PackedFormOf(*product), PackedFormOf(*PlanRowProduct(4, 6, true)));
  EXPECT_NE(PackedFormOf(*product), PackedFormOf(*PlanRowProduct(6, 4, false)));
}

}  // namespace
}  // namespace fixpoint::kernels
