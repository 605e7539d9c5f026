#include "runtime/kernels/row_codes.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/affine_codes.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kLanes = 16;

inline float OrZero(float x) {
  return __builtin_fabsf(x) <= std::numeric_limits<float>::max() ? x : 0.0f;
}

// Widens each of `size` smallest and largest values by the element of one line at its place.
inline void WidenEach(const float* x, int64_t size, float* min, float* max) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const float value = OrZero(x[i]);
    min[i] = value < min[i] ? value : min[i];
    max[i] = value > max[i] ? value : max[i];
  }
}

// The smallest and the largest value of a line, in kLanes lanes.
inline void Widen(const float* x, int64_t size, float* min, float* max) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) WidenEach(x + i, kLanes, min, max);
  WidenEach(x + i, size - i, min, max);
}

// Calls f(line, size, row, rows) for each line of memory: a line holds elements of one row or,
// where `rows` is more than 1, one element of each of `rows` rows.
template <typename F>
void ForEachLine(const Channels& channels, int64_t bytes_of_each, F f) {
  if (channels.inner == 1) {
    return ParallelFor(channels.outer, bytes_of_each * channels.count,
                       [=](int64_t begin, int64_t end) {
                         for (int64_t o = begin; o < end; ++o) {
                           f(o * channels.count, channels.count, int64_t{0}, channels.count);
                         }
                       });
  }
  ParallelFor(channels.outer * channels.count, bytes_of_each * channels.inner,
              [=](int64_t begin, int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
                  f(line * channels.inner, channels.inner, line % channels.count, int64_t{1});
                }
              });
}

// Computes what AffineCode computes.
template <QuantSpec::Rounding kRounding, typename Code>
inline void QuantizeLine(const float* x, int64_t size, const float* steps, const int32_t* zeros,
                         bool is_of_each, float smallest, float largest, Code* codes) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const float step = steps[is_of_each ? i : 0];
    const auto zero = static_cast<float>(zeros[is_of_each ? i : 0]);
    const float quotient = x[i] / step;
    const float rounded = kRounding == QuantSpec::HALF_TO_EVEN ? __builtin_nearbyintf(quotient)
                                                               : RoundHalfAway(quotient);
    float code = rounded + zero;
    code = code == code ? code : zero;
    code = code < smallest ? smallest : code;
    code = code > largest ? largest : code;
    codes[i] = static_cast<Code>(code);
  }
}

template <typename Code>
void QuantizeTo(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                const RowParams& params, absl::Span<Code> codes) {
  CHECK_EQ(static_cast<int64_t>(x.size()), rows.size());
  CHECK_EQ(codes.size(), x.size());
  const auto smallest = static_cast<float>(rule.smallest);
  const auto largest = static_cast<float>(rule.largest);
  const bool to_even = rule.rounding == QuantSpec::HALF_TO_EVEN;
  ForEachLine(
      rows, sizeof(float) + sizeof(Code),
      [=, x = x.data(), codes = codes.data(), steps = params.scales.data(),
       zeros = params.zero_points.data()](int64_t at, int64_t size, int64_t row, int64_t count) {
        const bool is_of_each = count > 1;
        if (to_even) {
          QuantizeLine<QuantSpec::HALF_TO_EVEN>(x + at, size, steps + row, zeros + row, is_of_each,
                                                smallest, largest, codes + at);
        } else {
          QuantizeLine<QuantSpec::HALF_AWAY_FROM_ZERO>(x + at, size, steps + row, zeros + row,
                                                       is_of_each, smallest, largest, codes + at);
        }
      });
}

template <typename Code>
void DequantizeFrom(absl::Span<const Code> codes, const Channels& rows, const RowParams& params,
                    absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(codes.size()), rows.size());
  CHECK_EQ(values.size(), codes.size());
  ForEachLine(
      rows, sizeof(float) + sizeof(Code),
      [=, codes = codes.data(), values = values.data(), steps = params.scales.data(),
       zeros = params.zero_points.data()](int64_t at, int64_t size, int64_t row, int64_t count) {
        const bool is_of_each = count > 1;
#pragma GCC ivdep
        for (int64_t i = 0; i < size; ++i) {
          const int64_t j = row + (is_of_each ? i : 0);
          const float steps_from_zero =
              static_cast<float>(codes[at + i]) - static_cast<float>(zeros[j]);
          values[at + i] = steps_from_zero * steps[j];
        }
      });
}

}  // namespace

void FindRowParams(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                   const RowParams& params) {
  CHECK_EQ(static_cast<int64_t>(x.size()), rows.size());
  CHECK_EQ(static_cast<int64_t>(params.scales.size()), rows.count);
  CHECK_EQ(static_cast<int64_t>(params.zero_points.size()), rows.count);
  const int64_t lanes = rows.inner == 1 ? 1 : kLanes;
  std::vector<float> min(rows.count * lanes);
  std::vector<float> max(rows.count * lanes);
  if (rows.inner == 1) {
    // Threads write different columns.
    ParallelFor(rows.count, 4 * rows.outer,
                [=, x = x.data(), min = min.data(), max = max.data()](int64_t begin, int64_t end) {
                  for (int64_t o = 0; o < rows.outer; ++o) {
                    WidenEach(x + o * rows.count + begin, end - begin, min + begin, max + begin);
                  }
                });
  } else {
    ParallelFor(rows.count, 4 * rows.outer * rows.inner,
                [=, x = x.data(), min = min.data(), max = max.data()](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    for (int64_t o = 0; o < rows.outer; ++o) {
                      Widen(x + (o * rows.count + row) * rows.inner, rows.inner, min + row * kLanes,
                            max + row * kLanes);
                    }
                  }
                });
  }
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto of_row = [=](const std::vector<float>& ends) {
      return absl::MakeConstSpan(ends).subspan(row * lanes, lanes);
    };
    const AffineParams found =
        AffineParamsOf(*std::min_element(of_row(min).begin(), of_row(min).end()),
                       *std::max_element(of_row(max).begin(), of_row(max).end()), rule);
    params.scales[row] = found.step;
    params.zero_points[row] = static_cast<int32_t>(found.zero_point);
  }
}

void QuantizeRows(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                  const RowParams& params, absl::Span<int8_t> codes) {
  QuantizeTo(x, rows, rule, params, codes);
}

void QuantizeRows(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                  const RowParams& params, absl::Span<float> codes) {
  QuantizeTo(x, rows, rule, params, codes);
}

void DequantizeRows(absl::Span<const int8_t> codes, const Channels& rows, const RowParams& params,
                    absl::Span<float> values) {
  DequantizeFrom(codes, rows, params, values);
}

void DequantizeRows(absl::Span<const float> codes, const Channels& rows, const RowParams& params,
                    absl::Span<float> values) {
  DequantizeFrom(codes, rows, params, values);
}

}  // namespace fixpoint::kernels
