#include "runtime/kernels/dropout.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kDrawn = 256;

// The random numbers of kDrawn elements from `start` on, as multiples of 2^-24, which compare as
// integers.
inline void Draw(const RandomStream& random, int64_t start, uint32_t* numbers) {
  for (int64_t i = 0; i < kDrawn; i += 4) {
    const auto words = random.Block(static_cast<uint64_t>((start + i) / 4));
    for (int word = 0; word < 4; ++word) numbers[i + word] = words[word] >> 8;
  }
}

}  // namespace

void Dropout(const RandomStream& random, double p, float factor, absl::Span<const float> x,
             absl::Span<float> y, absl::Span<uint8_t> mask) {
  CHECK_EQ(y.size(), x.size());
  CHECK_EQ(mask.size(), x.size());
  const uint32_t threshold = static_cast<uint32_t>(std::ceil(p * 0x1p24));
  const int64_t size = static_cast<int64_t>(x.size());
  ParallelFor((size + kDrawn - 1) / kDrawn, 9 * kDrawn,
              [=, x = x.data(), y = y.data(), mask = mask.data()](int64_t begin, int64_t end) {
                uint32_t numbers[kDrawn];
                for (int64_t start = begin * kDrawn; start < end * kDrawn; start += kDrawn) {
                  Draw(random, start, numbers);
                  const int64_t count = std::min(kDrawn, size - start);
#pragma GCC ivdep  // y may be x
                  for (int64_t i = 0; i < count; ++i) {
                    const bool is_kept = numbers[i] >= threshold;
                    const float value = x[start + i] * factor;
                    y[start + i] = is_kept ? value : 0.0f;
                    mask[start + i] = is_kept;
                  }
                }
              });
}

void Dither(const RandomStream& random, absl::Span<const float> x, absl::Span<float> y) {
  CHECK_EQ(y.size(), x.size());
  const int64_t size = static_cast<int64_t>(x.size());
  ParallelFor((size + kDrawn - 1) / kDrawn, 8 * kDrawn,
              [=, x = x.data(), y = y.data()](int64_t begin, int64_t end) {
                uint32_t numbers[kDrawn];
                for (int64_t start = begin * kDrawn; start < end * kDrawn; start += kDrawn) {
                  Draw(random, start, numbers);
                  const int64_t count = std::min(kDrawn, size - start);
#pragma GCC ivdep  // y may be x
                  for (int64_t i = 0; i < count; ++i) {
                    const float uniform = static_cast<float>(numbers[i]) * 0x1p-24f;
                    y[start + i] = x[start + i] + (uniform - 0.5f);
                  }
                }
              });
}

void DropoutBackward(float factor, absl::Span<const uint8_t> mask, absl::Span<const float> dy,
                     absl::Span<float> dx) {
  CHECK_EQ(dx.size(), dy.size());
  CHECK_EQ(mask.size(), dy.size());
  ParallelFor(dx.size(), 9,
              [=, mask = mask.data(), dy = dy.data(), dx = dx.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep  // dx may be dy
                for (int64_t i = begin; i < end; ++i) {
                  const float value = dy[i] * factor;
                  dx[i] = mask[i] != 0 ? value : 0.0f;
                }
              });
}

}  // namespace fixpoint::kernels
