// The cosine of the angle between rows.

#ifndef FIXPOINT_RUNTIME_KERNELS_COSINE_SIMILARITY_H_
#define FIXPOINT_RUNTIME_KERNELS_COSINE_SIMILARITY_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// x [rows, width], y [rows, width], or [1, width] for all rows.
struct CosineShape {
  int64_t rows = 1;
  int64_t width = 1;
  bool has_one_y = false;
};

// out [rows, 1]; the norms of the rows of x and of y.
void CosineSimilarity(const CosineShape& shape, absl::Span<const float> x,
                      absl::Span<const float> y, absl::Span<float> out, absl::Span<float> x_norm,
                      absl::Span<float> y_norm);
// An empty dx or dy is not computed.
void CosineSimilarityBackward(const CosineShape& shape, absl::Span<const float> x,
                              absl::Span<const float> y, absl::Span<const float> dout,
                              absl::Span<float> dx, absl::Span<float> dy);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_COSINE_SIMILARITY_H_
