// The labels that scores are compared with.

#ifndef FIXPOINT_RUNTIME_KERNELS_LABELS_H_
#define FIXPOINT_RUNTIME_KERNELS_LABELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// For each line of scores the index of its class, or else, soft, a distribution of the scores' own
// size. A line whose class is `ignored` has no loss and no gradient.
struct Labels {
  absl::Span<const int64_t> classes;
  int64_t ignored = -100;
  absl::Span<const float> soft;

  bool is_soft() const { return !soft.empty(); }
  bool IsIgnored(int64_t line) const { return !is_soft() && classes[line] == ignored; }
};

// Error (kInvalidArgument): there are not as many labels as lines, or one is neither a class nor
// `ignored`.
absl::Status CheckLabels(const Lines& lines, const Labels& labels);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LABELS_H_
