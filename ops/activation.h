// Which function an op computes of each element: one vocabulary for kernels and for the tables that
// lowering makes.

#ifndef FIXPOINT_OPS_ACTIVATION_H_
#define FIXPOINT_OPS_ACTIVATION_H_

namespace fixpoint {

// y from x, with the parameters a, b and c. A NaN stays NaN unless noted otherwise.
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
  kErf,         // the error function
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

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ACTIVATION_H_
