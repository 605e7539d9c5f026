#include "runtime/kernels/cosine_similarity.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

inline double Product(int64_t size, const float* a, const float* b) {
  return LaneSum(size, [=](int64_t i) { return double{a[i]} * b[i]; });
}

}  // namespace

void CosineSimilarity(const CosineShape& shape, absl::Span<const float> x,
                      absl::Span<const float> y, absl::Span<float> out, absl::Span<float> x_norm,
                      absl::Span<float> y_norm) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape.rows * shape.width);
  CHECK_EQ(static_cast<int64_t>(y.size()), (shape.has_one_y ? 1 : shape.rows) * shape.width);
  if (shape.has_one_y) {
    y_norm[0] = static_cast<float>(std::sqrt(Product(shape.width, y.data(), y.data())));
  }
  ParallelFor(shape.rows, 8 * shape.width,
              [=, width = shape.width, has_one_y = shape.has_one_y, x = x.data(), y = y.data(),
               out = out.data(), x_norm = x_norm.data(),
               y_norm = y_norm.data()](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const float* const a = x + row * width;
                  const float* const b = has_one_y ? y : y + row * width;
                  const double of_x = std::sqrt(Product(width, a, a));
                  const double of_y = std::sqrt(Product(width, b, b));
                  x_norm[row] = static_cast<float>(of_x);
                  if (!has_one_y) y_norm[row] = static_cast<float>(of_y);
                  out[row] = static_cast<float>(Product(width, a, b) / (of_x * of_y));
                }
              });
}

// With c the cosine: dx = dout * (y / (|x| |y|) - c x / |x|^2), and dy likewise.
void CosineSimilarityBackward(const CosineShape& shape, absl::Span<const float> x,
                              absl::Span<const float> y, absl::Span<const float> dout,
                              absl::Span<float> dx, absl::Span<float> dy) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape.rows * shape.width);
  std::fill(dy.begin(), dy.end(), 0.0f);
  Vectorised([shape, x = x.data(), y = y.data(), dout = dout.data(),
              dx = dx.empty() ? nullptr : dx.data(), dy = dy.empty() ? nullptr : dy.data()] {
    const int64_t width = shape.width;
    for (int64_t row = 0; row < shape.rows; ++row) {
      const float* const a = x + row * width;
      const int64_t y_at = shape.has_one_y ? 0 : row * width;
      const float* const b = y + y_at;
      const double of_x = Product(width, a, a);
      const double of_y = Product(width, b, b);
      const double norms = std::sqrt(of_x * of_y);
      const double cosine = Product(width, a, b) / norms;
      const float of_other = static_cast<float>(dout[row] / norms);
      const float x_of_own = static_cast<float>(dout[row] * cosine / of_x);
      const float y_of_own = static_cast<float>(dout[row] * cosine / of_y);
      if (dx != nullptr) {
        float* const to = dx + row * width;
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) to[j] = of_other * b[j] - x_of_own * a[j];
      }
      if (dy != nullptr) {
        float* const to = dy + y_at;
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) to[j] += of_other * a[j] - y_of_own * b[j];
      }
    }
  });
}

}  // namespace fixpoint::kernels
