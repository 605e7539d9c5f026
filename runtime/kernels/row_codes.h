// Quantizes to, and dequantizes, codes with a step and a zero point for each row, at the speed of
// memory. ops/affine_codes.h defines what is computed: the same bits, on every machine.

#ifndef FIXPOINT_RUNTIME_KERNELS_ROW_CODES_H_
#define FIXPOINT_RUNTIME_KERNELS_ROW_CODES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {

// The parameters that each row is quantized with: a row is a channel of `Channels`.
struct RowParams {
  absl::Span<float> scales;
  absl::Span<int32_t> zero_points;
};

// The step and the zero point of each row's smallest and largest value, widened to 0; values that
// are not finite do not count. REQUIRES, here and below: the sizes are those of `rows`.
void FindRowParams(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                   const RowParams& params);

// The codes of x. The code of NaN is the zero point. REQUIRES for int8_t: it holds them.
void QuantizeRows(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                  const RowParams& params, absl::Span<int8_t> codes);
void QuantizeRows(absl::Span<const float> x, const Channels& rows, const CodeRange& rule,
                  const RowParams& params, absl::Span<float> codes);

// (code - zero point) * step. If the codes are floats, `values` may be the codes.
void DequantizeRows(absl::Span<const int8_t> codes, const Channels& rows, const RowParams& params,
                    absl::Span<float> values);
void DequantizeRows(absl::Span<const float> codes, const Channels& rows, const RowParams& params,
                    absl::Span<float> values);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ROW_CODES_H_
