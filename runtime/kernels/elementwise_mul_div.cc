#include <memory>
#include <utility>

#include "runtime/kernels/planned_elementwise.h"

namespace fixpoint::kernels {
namespace {

struct Mul {
  static constexpr bool kIsLinear = false;
  static float Value(float x, float y) { return x * y; }
  static float ByX(float, float y) { return y; }
  static float ByY(float x, float) { return x; }
};

struct Div {
  static constexpr bool kIsLinear = false;
  static float Value(float x, float y) { return x / y; }
  static float ByX(float, float y) { return 1.0f / y; }
  static float ByY(float x, float y) { return -(x / y) / y; }
};

}  // namespace

std::unique_ptr<Elementwise> MakeMul(Broadcast broadcast) {
  return MakeElementwise<Mul>(std::move(broadcast));
}
std::unique_ptr<Elementwise> MakeDiv(Broadcast broadcast) {
  return MakeElementwise<Div>(std::move(broadcast));
}

}  // namespace fixpoint::kernels
