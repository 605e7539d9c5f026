// Running sums along an axis.

#ifndef FIXPOINT_RUNTIME_KERNELS_RUNNING_SUM_H_
#define FIXPOINT_RUNTIME_KERNELS_RUNNING_SUM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

struct RunningSumRule {
  bool exclusive = false;  // of the element itself
  bool reverse = false;    // from the end of the line
};

// to[i] = the sum of the line's elements up to i, in double. `to` may be `from`. REQUIRES: the
// sizes are the lines'.
void RunningSum(const Lines& lines, const RunningSumRule& rule, absl::Span<const float> from,
                absl::Span<float> to);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RUNNING_SUM_H_
