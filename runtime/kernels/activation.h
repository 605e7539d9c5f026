// Functions of one tensor, element by element, and their gradients.

#ifndef FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_
#define FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_

#include <optional>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// y of x, with the parameters a, b and c. A NaN stays NaN where nothing else is said.
enum class ActivationFunction {
  kRelu,             // x where x > 0, else 0, a NaN too
  kReluKeepingNan,   // 0 where x < 0, else x
  kLeakyRelu,        // x where x >= 0, else a * x
  kElu,              // x where x >= 0, else a * (exp(x) - 1)
  kSelu,             // b * x where x > 0, else b * a * (exp(x) - 1)
  kThresholdedRelu,  // x where x > a, else 0, a NaN too
  kClip,             // min(max(x, a), b)
  kSigmoid,          // 1 / (1 + exp(-x))
  kTanh,
  kHardSigmoid,  // min(max(a * x + b, 0), 1)
  kHardSwish,    // x * min(max(x + c, 0), a) / b
  kSwish,        // x * sigmoid(a * x)
  kGelu,         // x * (1 + erf(x / sqrt(2))) / 2
  kGeluByTanh,   // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
  kSoftplus,     // log(1 + exp(a * x)) / a; x where a * x > b
  kSoftsign,     // x / (1 + |x|)
  kLogSigmoid,   // log(sigmoid(x))
  kSoftRelu,     // log(1 + exp(min(max(x, -a), a)))
  kMish,         // x * tanh(log(1 + exp(x))); x * tanh(x) where x > a
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kSquare,
  kRsqrt,       // 1 / sqrt(x)
  kReciprocal,  // 1 / x
  kPow,         // x^a
  kSin,
  kCos,
  kCeil,
  kFloor,
  kRound,  // half away from zero
  kSign,   // -1, 0 or 1
};

struct Activation {
  ActivationFunction function = ActivationFunction::kRelu;
  float a = 0;
  float b = 0;
  float c = 0;
};

// What a gradient is made of: x, or y. None: there is no kernel for it.
enum class GradientSource { kInput, kOutput };
std::optional<GradientSource> GradientSourceOf(ActivationFunction function);

// REQUIRES, here and below: the spans have one size. y may be x.
void Activate(const Activation& activation, absl::Span<const float> x, absl::Span<float> y);

// dx = dy times the derivative. It is 0 where a rectifier or a clip bends, and that of leaky_relu
// is a there. `source` is what GradientSourceOf says; of leaky_relu it may be y too,
// where a > 0, and of a clip x.
// dx may be dy. REQUIRES: there is a kernel.
void ActivateBackward(const Activation& activation, absl::Span<const float> source,
                      absl::Span<const float> dy, absl::Span<float> dx);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ACTIVATION_H_
