// How many iterations the loops of a run may make: no program runs for ever.

#ifndef FIXPOINT_RUNTIME_LOOP_BOUND_H_
#define FIXPOINT_RUNTIME_LOOP_BOUND_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// Far more than a decoder or a detector takes; an endless loop of a few small ops ends after
// seconds.
inline constexpr int64_t kDefaultMaxIterations = 100000;

// For one run of a program, whose loops count together: inner loops count all their iterations.
class LoopBound {
 public:
  explicit LoopBound(int64_t max_iterations) : max_iterations_(max_iterations) {}

  // `condition`: the variable that the loop goes on by. Error (kFailedPrecondition): this is one
  // more than allowed.
  absl::Status BeginIteration(absl::string_view condition) {
    if (iterations_ < max_iterations_) {
      ++iterations_;
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the loops of this run have gone round ", max_iterations_,
                     " times, the most that --max_iterations (max_iterations in C++) allows; want "
                     "the condition \"",
                     condition, "\" to become false, or a higher bound"));
  }

 private:
  const int64_t max_iterations_;
  int64_t iterations_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_LOOP_BOUND_H_
