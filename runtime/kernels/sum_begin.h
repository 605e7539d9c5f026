// What a run of a kernel of sums begins with.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_
#define FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"

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

// The starting values of the sums: the bias, minus `zero`, the code of 0, times the sum of the
// weights. Computed modulo 2^32, like the sums themselves, which are exact in the end. Where there
// are more offsets than elements of the bias, the bias repeats.
inline void FillOffsets(absl::Span<const int32_t> weight_sums, int32_t zero,
                        absl::Span<const int32_t> bias, absl::Span<int32_t> offsets) {
  const auto factor = -static_cast<uint32_t>(zero);
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = static_cast<int32_t>(factor * static_cast<uint32_t>(weight_sums[i]));
  }
  if (bias.empty()) return;
  for (size_t at = 0; at < offsets.size(); at += bias.size()) {
    const size_t count = std::min(bias.size(), offsets.size() - at);
    for (size_t c = 0; c < count; ++c) {
      offsets[at + c] = static_cast<int32_t>(static_cast<uint32_t>(offsets[at + c]) +
                                             static_cast<uint32_t>(bias[c]));
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUM_BEGIN_H_
