// Sequences of rows, each pooled to one row, column by column.

#ifndef FIXPOINT_RUNTIME_KERNELS_SEQUENCE_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_SEQUENCE_POOLING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/lod.h"

namespace fixpoint::kernels {

// The sum; the sum divided by the number of rows, or by its square root; or the element of one row.
enum class SequencePooling { kSum, kAverage, kSqrt, kMax, kFirst, kLast };

// x [rows, width] and out [sequences, width]. REQUIRES: the sequences are of those rows.
struct SequencePoolingShape {
  std::vector<Sequence> sequences;
  int64_t width = 1;
};

// An empty sequence gives `padding`. For kMax a NaN counts only in the first row.
void PoolSequences(SequencePooling pooling, const SequencePoolingShape& shape,
                   absl::Span<const float> x, float padding, absl::Span<float> out);
// The first row of x that has the largest element; -1 for an empty sequence.
void FindLargestRows(const SequencePoolingShape& shape, absl::Span<const float> x,
                     absl::Span<int32_t> rows);
// The gradient of x, which only kMax reads. REQUIRES: every row of dx is of one sequence.
void PoolSequencesBackward(SequencePooling pooling, const SequencePoolingShape& shape,
                           absl::Span<const float> x, absl::Span<const float> dout,
                           absl::Span<float> dx);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SEQUENCE_POOLING_H_
