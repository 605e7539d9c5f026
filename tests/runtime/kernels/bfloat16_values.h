// Numbers in bfloat16, and the floats that they are.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_BFLOAT16_VALUES_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_BFLOAT16_VALUES_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"

namespace fixpoint::kernels {

inline std::vector<Bfloat16> InBfloat16(absl::Span<const float> x) {
  std::vector<Bfloat16> rounded(x.size());
  RoundToBfloat16(x, absl::MakeSpan(rounded));
  return rounded;
}

inline float ValueOf(Bfloat16 number) {
  const uint32_t bits = uint32_t{static_cast<uint16_t>(number)} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_BFLOAT16_VALUES_H_
