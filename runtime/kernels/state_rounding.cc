#include "runtime/kernels/state_rounding.h"

#include "ops/code_range.h"
#include "ops/state_codes.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

template <typename Code>
void FillCodes(int bits, int64_t size, const float* states, Code* codes) {
  const auto largest = static_cast<float>(LargestCode(bits));
  Vectorised([=] {
    for (int64_t i = 0; i < size; ++i) codes[i] = static_cast<Code>(StateCode(states[i], largest));
  });
}

}  // namespace

void StateCodes(int bits, int64_t size, const float* states, int8_t* codes) {
  FillCodes(bits, size, states, codes);
}

void StateCodes(int bits, int64_t size, const float* states, int16_t* codes) {
  FillCodes(bits, size, states, codes);
}

void RoundStates(int bits, int64_t size, const float* states, float* rounded) {
  const int32_t largest = LargestCode(bits);
  Vectorised([=] {
#pragma GCC ivdep  // in place
    for (int64_t i = 0; i < size; ++i) rounded[i] = RoundedState(states[i], largest);
  });
}

}  // namespace fixpoint::kernels
