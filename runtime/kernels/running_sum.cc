#include "runtime/kernels/running_sum.h"

#include <glog/logging.h>

namespace fixpoint::kernels {

void RunningSum(const Lines& lines, const RunningSumRule& rule, absl::Span<const float> from,
                absl::Span<float> to) {
  CHECK_EQ(static_cast<int64_t>(from.size()), lines.size());
  CHECK_EQ(static_cast<int64_t>(to.size()), lines.size());
  // There may be many lines of nothing.
  if (from.empty()) return;
  for (int64_t outer = 0; outer < lines.outer; ++outer) {
    for (int64_t inner = 0; inner < lines.inner; ++inner) {
      const int64_t begin = outer * lines.length * lines.inner + inner;
      double sum = 0;
      for (int64_t i = 0; i < lines.length; ++i) {
        const int64_t at = begin + (rule.reverse ? lines.length - 1 - i : i) * lines.inner;
        const double before = sum;
        sum += static_cast<double>(from[at]);
        to[at] = static_cast<float>(rule.exclusive ? before : sum);
      }
    }
  }
}

}  // namespace fixpoint::kernels
