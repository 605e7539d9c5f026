// Quantizing memory with stochastic rounding, by the numbers of runtime/rounding_chances.h.

#ifndef FIXPOINT_RUNTIME_KERNELS_STOCHASTIC_QUANTIZE_H_
#define FIXPOINT_RUNTIME_KERNELS_STOCHASTIC_QUANTIZE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/random.h"

namespace fixpoint::kernels {

// The codes of x, from -largest to largest, of which the largest stands for `range`. Element i
// takes number i. The same bits on every machine and with any number of threads; a NaN becomes 0.
// REQUIRES: int8_t holds them; as many codes as elements.
void QuantizeStochastically(const RandomStream& random, absl::Span<const float> x, float range,
                            int32_t largest, absl::Span<int8_t> codes);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_STOCHASTIC_QUANTIZE_H_
