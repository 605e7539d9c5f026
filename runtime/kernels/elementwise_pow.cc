#include <cmath>
#include <memory>
#include <utility>

#include "runtime/kernels/planned_elementwise.h"

namespace fixpoint::kernels {
namespace {

struct Pow {
  static constexpr bool kIsLinear = false;
  static float Value(float x, float y) { return std::pow(x, y); }
  static float ByX(float x, float y) { return y * std::pow(x, y - 1.0f); }
  static float ByY(float x, float y) { return std::pow(x, y) * std::log(x); }
};

}  // namespace

std::unique_ptr<Elementwise> MakePow(Broadcast broadcast) {
  return MakeElementwise<Pow>(std::move(broadcast));
}

}  // namespace fixpoint::kernels
