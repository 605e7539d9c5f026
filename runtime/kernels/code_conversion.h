// From floats to codes by one multiplication, and back.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_
#define FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "proto/config/quant_spec.pb.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

struct CodeConversion {
  float multiplier = 1;
  float smallest_code = 0;
  float largest_code = 0;
  float zero_point = 0;
  QuantSpec::Rounding rounding = QuantSpec::HALF_TO_EVEN;
};

// x * multiplier, rounded, plus the zero point, clamped to the smallest and the largest code; the
// zero point for a NaN. REQUIRES: codes is as large as x, and its type holds the codes, of which
// the zero point is one.
void Convert(absl::Span<const float> x, const CodeConversion& conversion, Output codes);
void Convert(absl::Span<const float> x, const CodeConversion& conversion,
             absl::Span<int16_t> codes);

// (code - zero_point) * step, for codes given as bytes. REQUIRES: as above.
void Revert(absl::Span<const uint8_t> codes, CodeType type, float step, float zero_point,
            absl::Span<float> x);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODE_CONVERSION_H_
