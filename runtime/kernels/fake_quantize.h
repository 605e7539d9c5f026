// Quantizing and dequantizing memory, at the speed of memory. What is computed is defined by
// ops/quant_math.h: the same bits, on every machine and for every rounding, except that a code of 0
// is +0, and provided that the processor's rounding mode is the default one. Loops for AVX-512,
// AVX2 and SSE4.1; oneDNN's limit on the instructions that are used (ONEDNN_MAX_CPU_ISA) holds for
// them too.

#ifndef FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_H_
#define FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/code_range.h"

namespace fixpoint::kernels {

// Which elements share a range: element (o, c, i) of [outer, channels, inner] has range c. One
// range for all: {1, 1, size}; channels last: {size / channels, channels, 1}.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  int64_t size() const { return outer * count * inner; }
};

// The largest absolute value of each channel, as AbsMax of quant_math.h finds it.
// REQUIRES: as many values as `channels` has, and as many ranges as it has channels.
void FindRanges(absl::Span<const float> x, const Channels& channels, absl::Span<float> ranges);

// The codes of x, as floats. `codes` may be x. REQUIRES: the largest is below 2^16.
void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<float> codes);
// The codes of x, as integers. A NaN becomes 0. REQUIRES: the type holds all codes: int8_t holds
// those of up to 8 signed bits, uint8_t those of up to 8 unsigned bits if x has nothing below 0,
// int16_t those of up to 16 signed bits.
void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<int8_t> codes);
void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<uint8_t> codes);
void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<int16_t> codes);

// The floats that the codes of x stand for. `values` may be x.
void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values);
// The same, and the codes, in one pass: for a product on integers and for gradients that read its
// operands as floats.
void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values,
                        absl::Span<int8_t> codes);
void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values,
                        absl::Span<uint8_t> codes);

// code * range / largest_code. If the codes are floats, `values` may be the codes.
void Dequantize(absl::Span<const float> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values);
void Dequantize(absl::Span<const int8_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values);
void Dequantize(absl::Span<const uint8_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values);
void Dequantize(absl::Span<const int16_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values);

// For sums of products of codes, with a range for each channel of the weights and one for the
// inputs: sum * range of the channel * range of the inputs / the product of both largest codes.
// `values` may be the sums.
void DequantizeProduct(absl::Span<const float> sums, absl::Span<const float> ranges,
                       const Channels& channels, float input_range, float largest_product,
                       absl::Span<float> values);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_H_
