#include "runtime/kernels/axis_taps.h"

#include <glog/logging.h>

#include <algorithm>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// So many elements are summed at once.
constexpr int64_t kChunk = 64;
constexpr int64_t kMostInFloat = 4;

// `x` is the first of a line's places; `count` elements at each are summed.
inline void SumChunk(const int32_t* places, const float* weights, int64_t taps, int64_t stride,
                     int64_t count, const float* x, float* y) {
  if (taps == 1 && weights[0] == 1) {
    std::copy_n(x + places[0] * stride, count, y);
  } else if (taps == 2) {
    const float* const first = x + places[0] * stride;
    const float* const second = x + places[1] * stride;
    const float a = weights[0];
    const float b = weights[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = a * first[i] + b * second[i];
  } else if (taps <= kMostInFloat) {
    std::fill_n(y, count, 0.0f);
    for (int64_t t = 0; t < taps; ++t) {
      const float* const term = x + places[t] * stride;
      const float weight = weights[t];
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] += weight * term[i];
    }
  } else {
    double sums[kChunk] = {};
    for (int64_t t = 0; t < taps; ++t) {
      const float* const term = x + places[t] * stride;
      const double weight = weights[t];
      for (int64_t i = 0; i < count; ++i) sums[i] += weight * static_cast<double>(term[i]);
    }
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums[i]);
  }
}

}  // namespace

AxisTaps Transposed(const AxisTaps& taps, int64_t size) {
  AxisTaps transposed;
  transposed.begins.assign(size + 1, 0);
  for (const int32_t place : taps.places) ++transposed.begins[place + 1];
  for (int64_t i = 0; i < size; ++i) transposed.begins[i + 1] += transposed.begins[i];
  transposed.places.resize(taps.places.size());
  transposed.weights.resize(taps.places.size());
  std::vector<int64_t> next(transposed.begins.begin(), transposed.begins.end() - 1);
  for (int64_t i = 0; i < taps.size(); ++i) {
    for (int64_t t = taps.begins[i]; t < taps.begins[i + 1]; ++t) {
      const int64_t at = next[taps.places[t]]++;
      transposed.places[at] = static_cast<int32_t>(i);
      transposed.weights[at] = taps.weights[t];
    }
  }
  return transposed;
}

void SumTaps(const AxisTaps& taps, const Lines& lines, absl::Span<const float> x,
             absl::Span<float> y) {
  CHECK_EQ(static_cast<int64_t>(x.size()), lines.outer * lines.length * lines.inner);
  CHECK_EQ(static_cast<int64_t>(y.size()), lines.outer * taps.size() * lines.inner);
  if (taps.size() == 0) return;
  const int64_t chunks = (lines.inner + kChunk - 1) / kChunk;
  const int64_t parts = lines.outer * taps.size() * chunks;
  const int64_t terms = 1 + static_cast<int64_t>(taps.places.size()) / taps.size();
  const int64_t bytes = 4 * std::min(lines.inner, kChunk) * (1 + terms);
  ParallelFor(
      parts, bytes,
      [=, begins = taps.begins.data(), places = taps.places.data(), weights = taps.weights.data(),
       size = taps.size(), x = x.data(), y = y.data()](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          const int64_t chunk = part % chunks * kChunk;
          const int64_t line = part / chunks;
          const int64_t i = line % size;
          const int64_t first = begins[i];
          SumChunk(places + first, weights + first, begins[i + 1] - first, lines.inner,
                   std::min(kChunk, lines.inner - chunk),
                   x + line / size * lines.length * lines.inner + chunk,
                   y + line * lines.inner + chunk);
        }
      });
}

}  // namespace fixpoint::kernels
