// From numbers to codes by one multiplication.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_
#define FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"

namespace fixpoint::kernels {

struct CodeConversion {
  float multiplier = 1;
  float smallest_code = -128;
  float largest_code = 127;
};

// x * multiplier, between the smallest and the largest code, rounded half to even; 0 of a NaN.
// REQUIRES: codes is as large as x, and its type holds the codes.
void Convert(absl::Span<const float> x, const CodeConversion& conversion, Output codes);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_
