// The functions of ops/activation.h, in arithmetic that the compiler vectorises in loops of
// vectorised.h, and that gives the same bits outside them.

#ifndef FIXPOINT_RUNTIME_KERNELS_ACTIVATION_FUNCTIONS_H_
#define FIXPOINT_RUNTIME_KERNELS_ACTIVATION_FUNCTIONS_H_

#include <cmath>

#include "ops/activation.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {

inline float Clip(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return high < raised ? high : raised;
}

// e^x - 1 where x < 0.
inline float NegativeExpm1(float x) { return Expm1OfNegative(x < 0.0f ? x : 0.0f); }

inline constexpr float kRootOf2OverPi = 0.797884561f;

// 1 + tanh(z) is 2 * sigmoid(2 * z).
inline float GeluInner(float x) { return 2.0f * kRootOf2OverPi * (x + 0.044715f * x * x * x); }

inline float Sign(float x) {
  const float sign = x > 0.0f ? 1.0f : -1.0f;
  return x > 0.0f || x < 0.0f ? sign : x;
}

// Calls use(f) once, where f(x) is the function, so that the loop inside `use` is compiled for it.
template <typename Use>
void WithFunction(const Activation& activation, Use use) {
  const float a = activation.a;
  const float b = activation.b;
  const float c = activation.c;
  switch (activation.function) {
    case ActivationFunction::kRelu:
      return use([](float x) { return x > 0.0f ? x : 0.0f; });
    case ActivationFunction::kReluKeepingNan:
      return use([](float x) { return x < 0.0f ? 0.0f : x; });
    case ActivationFunction::kLeakyRelu:
      return use([a](float x) { return x >= 0.0f ? x : a * x; });
    case ActivationFunction::kElu:
      return use([a](float x) { return x < 0.0f ? a * NegativeExpm1(x) : x; });
    case ActivationFunction::kSelu:
      return use([a, b](float x) { return b * (x < 0.0f ? a * NegativeExpm1(x) : x); });
    case ActivationFunction::kThresholdedRelu:
      return use([a](float x) { return x > a ? x : 0.0f; });
    case ActivationFunction::kClip:
      return use([a, b](float x) { return Clip(x, a, b); });
    case ActivationFunction::kSigmoid:
      return use([](float x) { return Sigmoid(x); });
    case ActivationFunction::kTanh:
      return use([](float x) { return Tanh(x); });
    case ActivationFunction::kHardSigmoid:
      return use([a, b](float x) { return Clip(a * x + b, 0.0f, 1.0f); });
    case ActivationFunction::kHardSwish:
      if (a != b || !(b > 0)) {
        return use([a, b, c](float x) { return x * (Clip(x + c, 0.0f, a) / b); });
      }
      // As in an epilogue (ops/epilogue.h).
      return use([factor = 1.0f / b, addend = c / b](float x) {
        return x * Clip(x * factor + addend, 0.0f, 1.0f);
      });
    case ActivationFunction::kSwish:
      return use([a](float x) { return x * Sigmoid(a * x); });
    case ActivationFunction::kGelu:
      return use([](float x) { return x * NormalBelow(x); });
    case ActivationFunction::kGeluByTanh:
      return use([](float x) { return x * Sigmoid(GeluInner(x)); });
    case ActivationFunction::kSoftplus:
      return use([a, b](float x) { return a * x > b ? x : Softplus(a * x) / a; });
    case ActivationFunction::kSoftsign:
      return use([](float x) { return x / (1.0f + __builtin_fabsf(x)); });
    case ActivationFunction::kLogSigmoid:
      return use([](float x) { return -Softplus(-x); });
    case ActivationFunction::kSoftRelu:
      return use([a](float x) { return Softplus(Clip(x, -a, a)); });
    case ActivationFunction::kMish:
      return use([a](float x) { return x * Tanh(x > a ? x : Softplus(x)); });
    case ActivationFunction::kAbs:
      return use([](float x) { return __builtin_fabsf(x); });
    case ActivationFunction::kExp:
      return use([](float x) { return Exp(x); });
    case ActivationFunction::kLog:
      return use([](float x) { return Log(x); });
    case ActivationFunction::kSqrt:
      return use([](float x) { return __builtin_sqrtf(x); });
    case ActivationFunction::kSquare:
      return use([](float x) { return x * x; });
    case ActivationFunction::kRsqrt:
      return use([](float x) { return 1.0f / __builtin_sqrtf(x); });
    case ActivationFunction::kReciprocal:
      return use([](float x) { return 1.0f / x; });
    case ActivationFunction::kPow:
      return use([a](float x) { return std::pow(x, a); });
    case ActivationFunction::kErf:
      return use([](float x) { return std::erf(x); });
    case ActivationFunction::kSin:
      return use([](float x) { return std::sin(x); });
    case ActivationFunction::kCos:
      return use([](float x) { return std::cos(x); });
    case ActivationFunction::kCeil:
      return use([](float x) { return __builtin_ceilf(x); });
    case ActivationFunction::kFloor:
      return use([](float x) { return __builtin_floorf(x); });
    case ActivationFunction::kRound:
      return use([](float x) { return RoundHalfAway(x); });
    case ActivationFunction::kSign:
      return use([](float x) { return Sign(x); });
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ACTIVATION_FUNCTIONS_H_
