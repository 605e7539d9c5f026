// Sums of products of codes that floats add without rounding.

#ifndef FIXPOINT_RUNTIME_KERNELS_EXACT_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_EXACT_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// The codes of one operand: of what is never negative, or of both signs.
enum class CodeType { kUint8, kInt8 };

constexpr int LargestMagnitude(CodeType type) { return type == CodeType::kUint8 ? 255 : 128; }

// Whether a sum of so many products of codes of `type` and of int8 fits in 32 bits, whatever the
// codes are.
constexpr bool SumsFit(int64_t products, CodeType type) {
  return products <= INT32_MAX / (128 * LargestMagnitude(type));
}

// Shares the terms of a sum out to as few parts as it takes for each to be exact in float: each
// partial sum of code[i] times any code of `other` stays within 2^24. Element i of the sum is
// codes[begin + i * stride], i below `size`; its part goes to the same place of `parts`. Gives the
// number of parts.
int ShareOut(absl::Span<const int8_t> codes, int64_t begin, int64_t stride, int64_t size,
             CodeType other, absl::Span<int> parts);

void CodesAsFloats(absl::Span<const uint8_t> codes, CodeType type, float* values);

// Adds the sums of one part, integers in floats, to those before. After the last part, `values` are
// all of it, rounded once.
void AddPart(int part, int part_count, absl::Span<float> values, absl::Span<int32_t> sums);

// Multiplies each row of `values` by the scales.
void ScaleColumns(absl::Span<const float> scales, absl::Span<float> values);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EXACT_SUMS_H_
