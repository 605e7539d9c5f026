// The loops of row_wise_product.h.

#ifndef FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_LOOPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// What each column of weights is, in steps and zero points.
struct WeightColumns {
  absl::Span<const float> scales;  // of sums
  absl::Span<const int32_t> zero_points;
  absl::Span<const int32_t> bias;   // added to sums; none: 0
  absl::Span<const float> addends;  // added to numbers after the scale; none: 0
};

// sums [rows, columns] of x [rows, inner] and y [inner, columns].
void AddProducts(absl::Span<const uint8_t> x, CodeType type, absl::Span<const int8_t> y,
                 int64_t columns, absl::Span<int32_t> sums);

// The sum of each row of codes.
void AddRows(absl::Span<const uint8_t> x, CodeType type, absl::Span<int32_t> sums);

// elements = float(products - zero point * row sum + bias) * scale + addend.
void TakeOffZeroPoints(absl::Span<const int32_t> products, absl::Span<const int32_t> row_sums,
                       const WeightColumns& columns, absl::Span<float> elements);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_LOOPS_H_
