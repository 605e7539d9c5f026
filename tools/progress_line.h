// One line on standard error that says how far long work is, while it lasts.

#ifndef FIXPOINT_TOOLS_PROGRESS_LINE_H_
#define FIXPOINT_TOOLS_PROGRESS_LINE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "absl/time/time.h"

namespace fixpoint {

// Whether standard error can show a line that is written again and again.
bool CanShowProgress();

class ProgressLine {
 public:
  // `what` is being done `total` times; 0: it is not known how often. Nothing is written unless
  // `show`, which is CanShowProgress() outside of tests. REQUIRES: `out` outlives this.
  ProgressLine(std::string what, int64_t total, std::ostream& out, bool show, absl::Time start);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // Takes the line away.
  ~ProgressLine();

  // Shows count, rate and time left, at most ten times a second.
  void Update(int64_t done, absl::Time now);

 private:
  const std::string what_;
  const int64_t total_;
  std::ostream& out_;
  const bool show_;
  const absl::Time start_;
  absl::Time next_;
  size_t width_ = 0;  // of what stands there
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROGRESS_LINE_H_
