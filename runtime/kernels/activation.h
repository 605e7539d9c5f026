// Functions of one tensor, element by element, and their gradients.

#ifndef FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_
#define FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "ops/activation.h"

namespace fixpoint::kernels {

using fixpoint::Activation;
using fixpoint::ActivationFunction;

// What a gradient is computed from: x, or y. kNone: there is no kernel for it.
enum class GradientSource { kInput, kOutput };
std::optional<GradientSource> GradientSourceOf(ActivationFunction function);

// REQUIRES, here and below: the spans have one size. y may be x.
void Activate(const Activation& activation, absl::Span<const float> x, absl::Span<float> y);

// dx = dy times the derivative, which is 0 where a rectifier or a clip bends, and a where
// leaky_relu bends. `source` is what GradientSourceOf says; for leaky_relu with a > 0 it may also
// be y, and for a clip x. dx may be dy. REQUIRES: there is a kernel.
void ActivateBackward(const Activation& activation, absl::Span<const float> source,
                      absl::Span<const float> dy, absl::Span<float> dx);

// All that the gradient of relu reads of y: 1 where it is above 0, else 0.
void MarkPassed(absl::Span<const float> y, absl::Span<uint8_t> passed);
// That gradient. dx may be dy.
void PassBackward(absl::Span<const uint8_t> passed, absl::Span<const float> dy,
                  absl::Span<float> dx);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_
