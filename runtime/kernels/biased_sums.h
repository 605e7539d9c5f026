// Convolutions and products of codes with a bias in int32: what is rounded is the integer that both
// make.

#ifndef FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::kernels {

// Whether a sum of so many products of codes fits in 32 bits with any bias.
bool BiasedSumsFit(int64_t products, const InputCoding& inputs);

// Error (kInvalidArgument): one is no code of a bias (ops/bias_codes.h).
absl::Status CheckBias(absl::Span<const int32_t> bias);

// out = float(acc + bias of the channel) * scale of the channel, and the epilogue, stored as
// numbers or as codes; acc is that of IntegerSums (integer_sums.h), and rounded is the sum of both
// alone. Not for two threads at once.
class BiasedSums : public PacksWeights<int8_t> {
 public:
  // What an IntegerSums gets, and a bias for each output channel. REQUIRES: the same; CheckBias.
  virtual void Run(absl::Span<const uint8_t> inputs, int32_t zero_point,
                   absl::Span<const uint8_t> weights, absl::Span<const int32_t> bias,
                   absl::Span<const float> scales, EpilogueOperands operands, Output out) = 0;

  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_H_
