#include "runtime/kernels/sequence_context.h"

#include <glog/logging.h>

#include <algorithm>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

void CheckSizes(const SequenceContext& shape, absl::Span<const float> x,
                absl::Span<const float> context) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape.rows() * shape.width);
  CHECK_EQ(static_cast<int64_t>(context.size()), shape.rows() * shape.length * shape.width);
}

bool Holds(const Sequence& sequence, int64_t row) {
  return row >= sequence.begin && row < sequence.end;
}

}  // namespace

void GatherContext(const SequenceContext& shape, absl::Span<const float> x,
                   absl::Span<float> context) {
  CheckSizes(shape, x, context);
  float* to = context.data();
  for (const Sequence& sequence : shape.sequences) {
    for (int64_t t = sequence.begin; t < sequence.end; ++t) {
      for (int64_t i = 0; i < shape.length; ++i, to += shape.width) {
        const int64_t row = t + shape.start + i;
        if (Holds(sequence, row)) {
          std::copy_n(x.data() + row * shape.width, shape.width, to);
        } else {
          std::fill_n(to, shape.width, 0.0f);
        }
      }
    }
  }
}

void GatherContextBackward(const SequenceContext& shape, absl::Span<const float> dcontext,
                           absl::Span<float> dx_span) {
  CheckSizes(shape, dx_span, dcontext);
  Vectorised([sequences = shape.sequences.data(), count = shape.sequences.size(),
              width = shape.width, start = shape.start, length = shape.length,
              dcontext = dcontext.data(), dx_all = dx_span.data()] {
    for (size_t s = 0; s < count; ++s) {
      for (int64_t row = sequences[s].begin; row < sequences[s].end; ++row) {
        float* const dx = dx_all + row * width;
        std::fill_n(dx, width, 0.0f);
        // Walking from the last place in a context to the first visits the rows that have it from
        // first to last.
        for (int64_t i = length - 1; i >= 0; --i) {
          const int64_t t = row - start - i;
          if (!Holds(sequences[s], t)) continue;
          const float* const from = dcontext + (t * length + i) * width;
#pragma GCC ivdep
          for (int64_t j = 0; j < width; ++j) dx[j] += from[j];
        }
      }
    }
  });
}

}  // namespace fixpoint::kernels
