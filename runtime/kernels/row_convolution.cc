#include "runtime/kernels/row_convolution.h"

#include <glog/logging.h>

#include <algorithm>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

void CheckSizes(const RowConvolution& shape, absl::Span<const float> rows,
                absl::Span<const float> filter) {
  const int64_t count = shape.sequences.empty() ? 0 : shape.sequences.back().end;
  CHECK_EQ(static_cast<int64_t>(rows.size()), count * shape.width);
  CHECK_EQ(static_cast<int64_t>(filter.size()), shape.context * shape.width);
}

// a += b * c.
inline void AddTimes(int64_t size, const float* b, const float* c, float* a) {
#pragma GCC ivdep
  for (int64_t j = 0; j < size; ++j) a[j] += b[j] * c[j];
}

}  // namespace

void ConvolveRows(const RowConvolution& shape, absl::Span<const float> x,
                  absl::Span<const float> filter, absl::Span<float> out) {
  CheckSizes(shape, x, filter);
  CheckSizes(shape, out, filter);
  std::fill(out.begin(), out.end(), 0.0f);
  for (const Sequence& sequence : shape.sequences) {
    Vectorised([sequence, width = shape.width, context = shape.context, x = x.data(),
                filter = filter.data(), out = out.data()] {
      for (int64_t t = sequence.begin; t < sequence.end; ++t) {
        const int64_t count = std::min(context, sequence.end - t);
        for (int64_t i = 0; i < count; ++i) {
          AddTimes(width, x + (t + i) * width, filter + i * width, out + t * width);
        }
      }
    });
  }
}

void ConvolveRowsBackward(const RowConvolution& shape, absl::Span<const float> filter,
                          absl::Span<const float> dout, absl::Span<float> dx) {
  CheckSizes(shape, dx, filter);
  CheckSizes(shape, dout, filter);
  std::fill(dx.begin(), dx.end(), 0.0f);
  for (const Sequence& sequence : shape.sequences) {
    Vectorised([sequence, width = shape.width, context = shape.context, dx = dx.data(),
                filter = filter.data(), dout = dout.data()] {
      for (int64_t t = sequence.begin; t < sequence.end; ++t) {
        const int64_t count = std::min(context, sequence.end - t);
        for (int64_t i = 0; i < count; ++i) {
          AddTimes(width, dout + t * width, filter + i * width, dx + (t + i) * width);
        }
      }
    });
  }
}

void RowFilterGradient(const RowConvolution& shape, absl::Span<const float> x,
                       absl::Span<const float> dout, absl::Span<float> dfilter) {
  CheckSizes(shape, x, dfilter);
  CheckSizes(shape, dout, dfilter);
  std::fill(dfilter.begin(), dfilter.end(), 0.0f);
  for (const Sequence& sequence : shape.sequences) {
    Vectorised([sequence, width = shape.width, context = shape.context, x = x.data(),
                dfilter = dfilter.data(), dout = dout.data()] {
      for (int64_t t = sequence.begin; t < sequence.end; ++t) {
        const int64_t count = std::min(context, sequence.end - t);
        for (int64_t i = 0; i < count; ++i) {
          AddTimes(width, x + (t + i) * width, dout + t * width, dfilter + i * width);
        }
      }
    });
  }
}

}  // namespace fixpoint::kernels
