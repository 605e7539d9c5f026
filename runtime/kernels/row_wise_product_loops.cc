#include "runtime/kernels/row_wise_product_loops.h"

#include <glog/logging.h>

#include <algorithm>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

template <typename Code>
void AddProductsOf(const Code* x, absl::Span<const int8_t> y_span, int64_t columns,
                   absl::Span<int32_t> sums_span) {
  if (sums_span.empty()) return;
  const auto rows = static_cast<int64_t>(sums_span.size()) / columns;
  const auto inner = static_cast<int64_t>(y_span.size()) / columns;
  ParallelFor(rows, 5 * static_cast<int64_t>(y_span.size()),
              [=, y = y_span.data(), sums = sums_span.data()](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  int32_t* const row = sums + r * columns;
                  std::fill_n(row, columns, 0);
                  for (int64_t k = 0; k < inner; ++k) {
                    const int32_t code = x[r * inner + k];
                    const int8_t* const weights = y + k * columns;
#pragma GCC ivdep
                    for (int64_t c = 0; c < columns; ++c) row[c] += code * weights[c];
                  }
                }
              });
}

template <typename Code>
void AddRowsOf(const Code* x, int64_t inner, absl::Span<int32_t> sums_span) {
  ParallelFor(sums_span.size(), inner, [=, sums = sums_span.data()](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Code* const row = x + r * inner;
      int32_t sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += row[k];
      sums[r] = sum;
    }
  });
}

}  // namespace

void AddProducts(absl::Span<const uint8_t> x, CodeType type, absl::Span<const int8_t> y,
                 int64_t columns, absl::Span<int32_t> sums) {
  CHECK_EQ(x.size() * columns * columns, y.size() * sums.size());
  if (type == CodeType::kUint8) {
    AddProductsOf(x.data(), y, columns, sums);
  } else {
    AddProductsOf(reinterpret_cast<const int8_t*>(x.data()), y, columns, sums);
  }
}

void AddRows(absl::Span<const uint8_t> x, CodeType type, absl::Span<int32_t> sums) {
  if (sums.empty()) return;
  CHECK_EQ(x.size() % sums.size(), 0u);
  const auto inner = static_cast<int64_t>(x.size() / sums.size());
  if (type == CodeType::kUint8) {
    AddRowsOf(x.data(), inner, sums);
  } else {
    AddRowsOf(reinterpret_cast<const int8_t*>(x.data()), inner, sums);
  }
}

void TakeOffZeroPoints(absl::Span<const int32_t> products, absl::Span<const int32_t> row_sums,
                       const WeightColumns& columns, absl::Span<float> elements) {
  CHECK_EQ(products.size(), elements.size());
  CHECK_EQ(row_sums.size() * columns.scales.size(), elements.size());
  const auto count = static_cast<int64_t>(columns.scales.size());
  ParallelFor(
      row_sums.size(), 8 * count,
      [=, products = products.data(), sums = row_sums.data(), scales = columns.scales.data(),
       zeros = columns.zero_points.data(), bias = columns.bias.data(),
       addends = columns.addends.data(), elements = elements.data()](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int32_t* const of_row = products + r * count;
          float* const out = elements + r * count;
          const int32_t sum = sums[r];
          if (bias == nullptr) {
#pragma GCC ivdep
            for (int64_t c = 0; c < count; ++c) {
              out[c] = static_cast<float>(of_row[c] - zeros[c] * sum) * scales[c];
            }
          } else {
#pragma GCC ivdep
            for (int64_t c = 0; c < count; ++c) {
              out[c] = static_cast<float>(of_row[c] - zeros[c] * sum + bias[c]) * scales[c];
            }
          }
          if (addends == nullptr) continue;
#pragma GCC ivdep
          for (int64_t c = 0; c < count; ++c) out[c] += addends[c];
        }
      });
}

}  // namespace fixpoint::kernels
