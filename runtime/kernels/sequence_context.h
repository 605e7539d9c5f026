// The rows around each row of a sequence, side by side: a convolution of sequences is a product
// with them.

#ifndef FIXPOINT_RUNTIME_KERNELS_SEQUENCE_CONTEXT_H_
#define FIXPOINT_RUNTIME_KERNELS_SEQUENCE_CONTEXT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/lod.h"

namespace fixpoint::kernels {

// The context of x [rows, width] is [rows, length * width]: the `length` rows of its sequence from
// `start` beside each row on; those beyond the sequence count as 0. REQUIRES: the sequences are of
// those rows.
struct SequenceContext {
  std::vector<Sequence> sequences;
  int64_t width = 1;
  int64_t start = 0;
  int64_t length = 1;

  int64_t rows() const { return sequences.empty() ? 0 : sequences.back().end; }
};

void GatherContext(const SequenceContext& shape, absl::Span<const float> x,
                   absl::Span<float> context);
// dx is the sum, row by row, of the gradients of all that it was gathered to, in their order.
void GatherContextBackward(const SequenceContext& shape, absl::Span<const float> dcontext,
                           absl::Span<float> dx);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SEQUENCE_CONTEXT_H_
