// Numbers of attributes as elements of tensors.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_NUMBER_AS_ELEMENT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_NUMBER_AS_ELEMENT_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fixpoint::executor {

// `value` as an element: integers are cut, and no larger or smaller than the type holds.
template <typename Element>
Element ElementOf(double value) {
  if constexpr (std::is_floating_point_v<Element>) {
    return static_cast<Element>(value);
  } else if constexpr (std::is_same_v<Element, bool>) {
    return value != 0;
  } else {
    constexpr auto kLeast = std::numeric_limits<Element>::min();
    constexpr auto kMost = std::numeric_limits<Element>::max();
    if (std::isnan(value)) return 0;
    if (value >= static_cast<double>(kMost)) return kMost;
    return value <= static_cast<double>(kLeast) ? kLeast : static_cast<Element>(value);
  }
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_NUMBER_AS_ELEMENT_H_
