#include "runtime/kernels/sequence_pooling.h"

#include <glog/logging.h>

#include <cmath>
#include <type_traits>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// Columns that are pooled together: their sums are in registers while the rows go by.
constexpr int kBlock = 16;

// Calls f(sequence, column, columns) with blocks of columns of each sequence.
template <typename F>
void ForEachBlock(const SequencePoolingShape& shape, F f) {
  Vectorised(
      [=, sequences = shape.sequences.data(), count = shape.sequences.size(), width = shape.width] {
        for (size_t s = 0; s < count; ++s) {
          int64_t column = 0;
          for (; column + kBlock <= width; column += kBlock) {
            f(s, sequences[s], column, std::integral_constant<int, kBlock>());
          }
          if (column < width) f(s, sequences[s], column, static_cast<int>(width - column));
        }
      });
}

// What the rows' elements are multiplied by. REQUIRES: the sequence is not empty.
double FactorOf(SequencePooling pooling, const Sequence& sequence) {
  switch (pooling) {
    case SequencePooling::kAverage:
      return 1.0 / static_cast<double>(sequence.length());
    case SequencePooling::kSqrt:
      return 1.0 / std::sqrt(static_cast<double>(sequence.length()));
    default:
      return 1.0;
  }
}

// The rows that are summed.
Sequence RowsOf(SequencePooling pooling, const Sequence& sequence) {
  switch (pooling) {
    case SequencePooling::kFirst:
      return {sequence.begin, sequence.begin + 1};
    case SequencePooling::kLast:
      return {sequence.end - 1, sequence.end};
    default:
      return sequence;
  }
}

// The largest elements of a block of columns, and the rows that they are in.
struct Largest {
  float elements[kBlock];
  int32_t rows[kBlock];
};

template <typename Columns>
Largest LargestOf(const float* x, int64_t width, const Sequence& sequence, Columns columns) {
  Largest largest;
  for (int i = 0; i < columns; ++i) {
    largest.elements[i] = x[sequence.begin * width + i];
    largest.rows[i] = static_cast<int32_t>(sequence.begin);
  }
  for (int64_t row = sequence.begin + 1; row < sequence.end; ++row) {
    for (int i = 0; i < columns; ++i) {
      const float element = x[row * width + i];
      const bool is_larger = element > largest.elements[i];
      largest.elements[i] = is_larger ? element : largest.elements[i];
      largest.rows[i] = is_larger ? static_cast<int32_t>(row) : largest.rows[i];
    }
  }
  return largest;
}

void CheckSizes(const SequencePoolingShape& shape, size_t x, size_t out) {
  const int64_t rows = shape.sequences.empty() ? 0 : shape.sequences.back().end;
  CHECK_EQ(static_cast<int64_t>(x), rows * shape.width);
  CHECK_EQ(out, shape.sequences.size() * static_cast<size_t>(shape.width));
}

}  // namespace

void PoolSequences(SequencePooling pooling, const SequencePoolingShape& shape,
                   absl::Span<const float> x_span, float padding, absl::Span<float> out_span) {
  CheckSizes(shape, x_span.size(), out_span.size());
  ForEachBlock(shape, [=, x = x_span.data(), all = out_span.data(), width = shape.width](
                          size_t s, const Sequence& sequence, int64_t column, auto columns) {
    float* const out = all + static_cast<int64_t>(s) * width + column;
    if (sequence.length() == 0) {
      for (int i = 0; i < columns; ++i) out[i] = padding;
      return;
    }
    if (pooling == SequencePooling::kMax) {
      const Largest largest = LargestOf(x + column, width, sequence, columns);
      for (int i = 0; i < columns; ++i) out[i] = largest.elements[i];
      return;
    }
    const Sequence rows = RowsOf(pooling, sequence);
    double sums[kBlock] = {};
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int i = 0; i < columns; ++i) sums[i] += double{x[row * width + column + i]};
    }
    const double factor = FactorOf(pooling, sequence);
    for (int i = 0; i < columns; ++i) out[i] = static_cast<float>(sums[i] * factor);
  });
}

void FindLargestRows(const SequencePoolingShape& shape, absl::Span<const float> x_span,
                     absl::Span<int32_t> rows_span) {
  CheckSizes(shape, x_span.size(), rows_span.size());
  ForEachBlock(shape, [x = x_span.data(), all = rows_span.data(), width = shape.width](
                          size_t s, const Sequence& sequence, int64_t column, auto columns) {
    int32_t* const rows = all + static_cast<int64_t>(s) * width + column;
    if (sequence.length() == 0) {
      for (int i = 0; i < columns; ++i) rows[i] = -1;
      return;
    }
    const Largest largest = LargestOf(x + column, width, sequence, columns);
    for (int i = 0; i < columns; ++i) rows[i] = largest.rows[i];
  });
}

void PoolSequencesBackward(SequencePooling pooling, const SequencePoolingShape& shape,
                           absl::Span<const float> x_span, absl::Span<const float> dout_span,
                           absl::Span<float> dx_span) {
  CheckSizes(shape, dx_span.size(), dout_span.size());
  if (pooling == SequencePooling::kMax) CHECK_EQ(x_span.size(), dx_span.size());
  ForEachBlock(shape, [=, x = x_span.data(), dout_all = dout_span.data(), dx = dx_span.data(),
                       width = shape.width](size_t s, const Sequence& sequence, int64_t column,
                                            auto columns) {
    if (sequence.length() == 0) return;
    const float* const dout = dout_all + static_cast<int64_t>(s) * width + column;
    if (pooling == SequencePooling::kMax) {
      const Largest largest = LargestOf(x + column, width, sequence, columns);
      for (int64_t row = sequence.begin; row < sequence.end; ++row) {
        for (int i = 0; i < columns; ++i) {
          dx[row * width + column + i] = largest.rows[i] == row ? dout[i] : 0.0f;
        }
      }
      return;
    }
    const Sequence rows = RowsOf(pooling, sequence);
    const double factor = FactorOf(pooling, sequence);
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      const bool counts = row >= rows.begin && row < rows.end;
      for (int i = 0; i < columns; ++i) {
        const float d = static_cast<float>(double{dout[i]} * factor);
        dx[row * width + column + i] = counts ? d : 0.0f;
      }
    }
  });
}

}  // namespace fixpoint::kernels
