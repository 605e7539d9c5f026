#include <memory>
#include <utility>

#include "runtime/kernels/planned_elementwise.h"

namespace fixpoint::kernels {
namespace {

struct Max {
  static constexpr bool kIsLinear = false;
  static float Value(float x, float y) { return (x != x) | (x > y) ? x : y; }
  static float ByX(float x, float y) { return x > y ? 1.0f : 0.0f; }
  static float ByY(float x, float y) { return x > y ? 0.0f : 1.0f; }
};

struct Min {
  static constexpr bool kIsLinear = false;
  static float Value(float x, float y) { return (x != x) | (x < y) ? x : y; }
  static float ByX(float x, float y) { return x < y ? 1.0f : 0.0f; }
  static float ByY(float x, float y) { return x < y ? 0.0f : 1.0f; }
};

}  // namespace

std::unique_ptr<Elementwise> MakeMax(Broadcast broadcast) {
  return MakeElementwise<Max>(std::move(broadcast));
}
std::unique_ptr<Elementwise> MakeMin(Broadcast broadcast) {
  return MakeElementwise<Min>(std::move(broadcast));
}

}  // namespace fixpoint::kernels
