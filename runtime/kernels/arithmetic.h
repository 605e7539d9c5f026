// Sums and scales of whole tensors. Sums over elements are in double, in an order that depends on
// their number alone. clip is an activation (activation.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_ARITHMETIC_H_
#define FIXPOINT_RUNTIME_KERNELS_ARITHMETIC_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

// y = x * factor + bias, or (x + bias) * factor. y may be x. REQUIRES, here and below: spans of
// elements have one size.
enum class BiasOrder { kAfterFactor, kBeforeFactor };
void Scale(absl::Span<const float> x, float factor, float bias, BiasOrder order,
           absl::Span<float> y);

// y is the sum of the terms, added in their order. y may be any of them. REQUIRES: there is a
// term.
void AddAll(absl::Span<const absl::Span<const float>> terms, absl::Span<float> y);

double Sum(absl::Span<const float> x);
double SumOfSquares(absl::Span<const float> x);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ARITHMETIC_H_
