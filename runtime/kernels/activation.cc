#include "runtime/kernels/activation.h"

#include <glog/logging.h>

#include <cmath>
#include <cstdint>

#include "runtime/kernels/activation_functions.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

template <typename Function>
void Map(absl::Span<const float> from, absl::Span<float> to, Function function) {
  CHECK_EQ(to.size(), from.size());
  ParallelFor(to.size(), 8, [=, x = from.data(), y = to.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep  // y may be x
    for (int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
  });
}

// dx[i] = gradient(source[i], dy[i])
template <typename Gradient>
void MapGradient(absl::Span<const float> source, absl::Span<const float> from, absl::Span<float> to,
                 Gradient gradient) {
  CHECK_EQ(from.size(), source.size());
  CHECK_EQ(to.size(), source.size());
  ParallelFor(
      to.size(), 12,
      [=, source = source.data(), dy = from.data(), dx = to.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep  // dx may be dy
        for (int64_t i = begin; i < end; ++i) dx[i] = gradient(source[i], dy[i]);
      });
}

template <typename Slope>
void MapSlope(absl::Span<const float> source, absl::Span<const float> dy, absl::Span<float> dx,
              Slope slope) {
  MapGradient(source, dy, dx, [slope](float x, float dy) { return dy * slope(x); });
}

constexpr float kTwoOverRootOfPi = 1.12837917f;

float GeluInnerSlope(float x) { return 2.0f * kRootOf2OverPi * (1.0f + 3.0f * 0.044715f * x * x); }

// The sigmoid and its derivative, which stays accurate where the sigmoid is near 1.
struct SigmoidWithSlope {
  explicit SigmoidWithSlope(float x) {
    const float e = Exp(-__builtin_fabsf(x));
    const float larger = 1.0f / (1.0f + e);
    const float smaller = e * larger;
    value = x < 0.0f ? smaller : larger;
    slope = smaller * larger;
  }

  float value;
  float slope;
};

float SwishSlope(float x, float beta) {
  const SigmoidWithSlope s(beta * x);
  return s.value + beta * (x * s.slope);  // the product of beta and x may be infinite
}

float GeluByTanhSlope(float x) {
  const SigmoidWithSlope s(GeluInner(x));
  const float bend = x * GeluInnerSlope(x) * s.slope;
  return s.value + (s.slope == 0.0f ? 0.0f : bend);  // where the inner slope may be infinite
}

float HardSwishSlope(float x, float threshold, float scale, float offset) {
  const float inside = (2.0f * x + offset) / scale;
  const float slope = x + offset < threshold ? inside : threshold / scale;
  return x + offset <= 0.0f ? 0.0f : slope;
}

}  // namespace

std::optional<GradientSource> GradientSourceOf(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::kRelu:
    case ActivationFunction::kReluKeepingNan:
    case ActivationFunction::kClip:
    case ActivationFunction::kSigmoid:
    case ActivationFunction::kTanh:
    case ActivationFunction::kHardSigmoid:
    case ActivationFunction::kExp:
    case ActivationFunction::kSqrt:
      return GradientSource::kOutput;
    case ActivationFunction::kLeakyRelu:
    case ActivationFunction::kHardSwish:
    case ActivationFunction::kSwish:
    case ActivationFunction::kGelu:
    case ActivationFunction::kGeluByTanh:
    case ActivationFunction::kAbs:
    case ActivationFunction::kLog:
    case ActivationFunction::kSquare:
    case ActivationFunction::kErf:
      return GradientSource::kInput;
    default:
      return std::nullopt;
  }
}

void Activate(const Activation& activation, absl::Span<const float> x, absl::Span<float> y) {
  WithFunction(activation, [x, y](auto function) { Map(x, y, function); });
}

void ActivateBackward(const Activation& activation, absl::Span<const float> source,
                      absl::Span<const float> dy, absl::Span<float> dx) {
  const float a = activation.a;
  const float b = activation.b;
  const float c = activation.c;
  switch (activation.function) {
    case ActivationFunction::kRelu:
    case ActivationFunction::kReluKeepingNan:
      return MapSlope(source, dy, dx, [](float y) { return y > 0.0f ? 1.0f : 0.0f; });
    case ActivationFunction::kLeakyRelu:
      return MapSlope(source, dy, dx, [a](float x) { return x >= 0.0f ? 1.0f : a; });
    case ActivationFunction::kClip:
      return MapSlope(source, dy, dx, [a, b](float y) { return (y > a) & (y < b) ? 1.0f : 0.0f; });
    case ActivationFunction::kSigmoid:
      return MapSlope(source, dy, dx, [](float y) { return y * (1.0f - y); });
    case ActivationFunction::kTanh:
      return MapSlope(source, dy, dx, [](float y) { return 1.0f - y * y; });
    case ActivationFunction::kHardSigmoid:
      return MapSlope(source, dy, dx, [a](float y) { return (y > 0.0f) & (y < 1.0f) ? a : 0.0f; });
    case ActivationFunction::kHardSwish:
      return MapSlope(source, dy, dx, [a, b, c](float x) { return HardSwishSlope(x, a, b, c); });
    case ActivationFunction::kSwish:
      return MapSlope(source, dy, dx, [a](float x) { return SwishSlope(x, a); });
    case ActivationFunction::kGelu:
      return MapSlope(source, dy, dx,
                      [](float x) { return NormalBelow(x) + x * NormalDensity(x); });
    case ActivationFunction::kGeluByTanh:
      return MapSlope(source, dy, dx, [](float x) { return GeluByTanhSlope(x); });
    case ActivationFunction::kAbs:
      return MapSlope(source, dy, dx, [](float x) { return Sign(x); });
    case ActivationFunction::kExp:
      return MapSlope(source, dy, dx, [](float y) { return y; });
    case ActivationFunction::kLog:
      return MapSlope(source, dy, dx, [](float x) { return 1.0f / x; });
    case ActivationFunction::kSqrt:
      return MapSlope(source, dy, dx, [](float y) { return 0.5f / y; });
    case ActivationFunction::kSquare:
      // Twice x may be infinite.
      return MapGradient(source, dy, dx, [](float x, float dy) { return 2.0f * dy * x; });
    case ActivationFunction::kErf:
      return MapSlope(source, dy, dx, [](float x) { return kTwoOverRootOfPi * Exp(-x * x); });
    default:
      LOG(FATAL) << "the gradient has no kernel; want one that GradientSourceOf knows";
  }
}

void MarkPassed(absl::Span<const float> y, absl::Span<uint8_t> passed) {
  CHECK_EQ(passed.size(), y.size());
  ParallelFor(y.size(), 5, [y = y.data(), passed = passed.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) passed[i] = y[i] > 0.0f ? 1 : 0;
  });
}

void PassBackward(absl::Span<const uint8_t> passed, absl::Span<const float> dy,
                  absl::Span<float> dx) {
  CHECK_EQ(passed.size(), dy.size());
  CHECK_EQ(dx.size(), dy.size());
  ParallelFor(dy.size(), 9,
              [passed = passed.data(), dy = dy.data(), dx = dx.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep  // dx may be dy
                for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * static_cast<float>(passed[i]);
              });
}

}  // namespace fixpoint::kernels
