// Kernels that say that they pack weights to one form pack them to the same bytes.

#include "runtime/kernels/packed_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/recurrence.h"

namespace fixpoint::kernels {
namespace {

template <typename T>
std::vector<T> Weights(int64_t size) {
  std::vector<T> weights(size);
  for (int64_t i = 0; i < size; ++i) weights[i] = static_cast<T>(100 * std::sin(1.3 * i));
  return weights;
}

// What one matrix was packed to, by form.
using Packings = std::map<std::string, std::vector<uint8_t>>;

template <typename T, typename Kernel>
void ExpectAsBefore(Kernel& kernel, int64_t weights, Packings* packings) {
  const std::string form = PackedFormOf(kernel);
  EXPECT_NE(form, "");
  const std::vector<uint8_t> packed = Packed<T>(kernel, Weights<T>(weights));
  EXPECT_EQ(packings->emplace(form, packed).first->second, packed) << form;
}

constexpr int64_t kRows[] = {1, 2, 5, 16, 33, 64, 200, 777};

TEST(PackedForms, OfProductsOfFloats) {
  Packings packings;
  for (const bool transpose_y : {false, true}) {
    for (const int64_t rows : kRows) {
      const auto product = Product::Plan({1, rows, 48, 70, false, transpose_y});
      ASSERT_TRUE(product.ok()) << product.status();
      ExpectAsBefore<float>(**product, 48 * 70, &packings);
    }
  }
  // Those of other weights are other forms, and most shapes have the form of another.
  EXPECT_GE(packings.size(), 2u);
  EXPECT_LT(packings.size(), 2 * std::size(kRows));
}

TEST(PackedForms, OfProductsOfCodes) {
  const InputCoding codings[] = {
      CodeType::kUint8, CodeType::kInt8, {CodeType::kUint8, true}, {CodeType::kInt8, true}};
  Packings packings;
  for (const InputCoding& coding : codings) {
    for (const bool transpose_y : {false, true}) {
      for (const int64_t rows : kRows) {
        const auto sums = PlanIntegerProduct({1, rows, 48, 70, false, transpose_y}, coding);
        ASSERT_TRUE(sums.ok()) << sums.status();
        if (PackedFormOf(**sums).empty()) continue;
        ExpectAsBefore<int8_t>(**sums, 48 * 70, &packings);
      }
    }
  }
}

TEST(PackedForms, OfRecurrences) {
  Packings packings;
  for (const int64_t rows : kRows) {
    RecurrenceShape shape;
    shape.cell.type = RecurrentCell::Type::kGru;
    shape.cell.width = 24;
    shape.rows = {rows, rows, 1};
    const auto recurrence = Recurrence::Plan(shape);
    ASSERT_TRUE(recurrence.ok()) << recurrence.status();
    ExpectAsBefore<float>(**recurrence, shape.weight_size(), &packings);
  }
}

}  // namespace
}  // namespace fixpoint::kernels
