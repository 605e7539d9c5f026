// A convolution over the rows of a sequence in which each column has weights of its own.

#ifndef FIXPOINT_RUNTIME_KERNELS_ROW_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_ROW_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/lod.h"

namespace fixpoint::kernels {

// out[t] = the sum over i < context of x[t + i] * filter[i], of rows of the sequence.
struct RowConvolution {
  std::vector<Sequence> sequences;
  int64_t width = 1;
  int64_t context = 1;
};

void ConvolveRows(const RowConvolution& shape, absl::Span<const float> x,
                  absl::Span<const float> filter, absl::Span<float> out);
void ConvolveRowsBackward(const RowConvolution& shape, absl::Span<const float> filter,
                          absl::Span<const float> dout, absl::Span<float> dx);
void RowFilterGradient(const RowConvolution& shape, absl::Span<const float> x,
                       absl::Span<const float> dout, absl::Span<float> dfilter);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ROW_CONVOLUTION_H_
