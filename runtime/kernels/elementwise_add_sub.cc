#include <memory>
#include <utility>

#include "runtime/kernels/planned_elementwise.h"

namespace fixpoint::kernels {
namespace {

struct Add {
  static constexpr bool kIsLinear = true;
  static float Value(float x, float y) { return x + y; }
  static float ByX(float, float) { return 1.0f; }
  static float ByY(float, float) { return 1.0f; }
};

struct Sub {
  static constexpr bool kIsLinear = true;
  static float Value(float x, float y) { return x - y; }
  static float ByX(float, float) { return 1.0f; }
  static float ByY(float, float) { return -1.0f; }
};

}  // namespace

std::unique_ptr<Elementwise> MakeAdd(Broadcast broadcast) {
  return MakeElementwise<Add>(std::move(broadcast));
}
std::unique_ptr<Elementwise> MakeSub(Broadcast broadcast) {
  return MakeElementwise<Sub>(std::move(broadcast));
}

}  // namespace fixpoint::kernels
