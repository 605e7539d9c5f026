// What kernels of sums do first in a run.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_
#define FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

// The sizes that a kernel was planned for.
struct PlannedSizes {
  int64_t inputs;
  int64_t packed_bytes;
  int64_t channels;
  int64_t out;
};

inline void CheckRun(const SumOperands& operands, const Output& out, const SumCoding& coding,
                     const PlannedSizes& sizes, const Epilogue& epilogue, OutputType output) {
  const auto of_channels = [&](bool is_planned) { return is_planned ? sizes.channels : 0; };
  CHECK(coding.inputs.has_zero_point || operands.zero_point == 0);
  CHECK_EQ(static_cast<int64_t>(operands.inputs.size()), sizes.inputs);
  CHECK_EQ(static_cast<int64_t>(operands.weights.size()), sizes.packed_bytes);
  CHECK_EQ(static_cast<int64_t>(operands.scales.size()), sizes.channels);
  CHECK_EQ(static_cast<int64_t>(operands.bias.size()), of_channels(coding.has_bias));
  CHECK_EQ(static_cast<int64_t>(operands.weight_zero_points.size()),
           of_channels(coding.has_weight_zero_points));
  CHECK_EQ(operands.epilogue.size(), epilogue.size());
  CHECK_EQ(static_cast<int64_t>(out.size()), sizes.out);
  CHECK(out.type() == output);
}

// Fills `offsets` with what sums begin with: the bias less zero * sum of the weights, where `zero`
// is the code of 0. The arithmetic is modulo 2^32, as that of the sums is, so that they are right
// in the end. Where there are more offsets than biases, those of several matrices, the bias
// repeats; a rest, which panels of weights are padded with, is never stored.
inline void FillOffsets(absl::Span<const int32_t> weight_sums, int32_t zero,
                        absl::Span<const int32_t> bias, absl::Span<int32_t> offsets) {
  const auto size = static_cast<int64_t>(offsets.size());
  const auto period = static_cast<int64_t>(bias.size());
  Vectorised([=, sums = weight_sums.data(), bias = bias.data(), offsets = offsets.data()] {
    const auto begin = [=](int64_t i, uint32_t of_bias) {
      const uint32_t taken_off = static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums[i]);
      offsets[i] = static_cast<int32_t>(of_bias - taken_off);
    };
    if (period == 0) {
#pragma GCC ivdep  // offsets may be the sums
      for (int64_t i = 0; i < size; ++i) begin(i, 0);
    } else {
      for (int64_t at = 0; at < size; at += period) {
        const int64_t count = std::min(period, size - at);
#pragma GCC ivdep
        for (int64_t c = 0; c < count; ++c) begin(at + c, static_cast<uint32_t>(bias[c]));
      }
    }
  });
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_
