// The scale and the bias of a norm, and their gradients.

#ifndef FIXPOINT_RUNTIME_KERNELS_SCALE_AND_BIAS_H_
#define FIXPOINT_RUNTIME_KERNELS_SCALE_AND_BIAS_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// `size` values each. A span may be empty: for scales that means 1, for biases 0, and gradients are
// then not needed. Gradients are summed in pieces, each of which one thread can fill.
class ScaleAndBias {
 public:
  ScaleAndBias(int64_t size, int64_t pieces)
      : ones_(size, 1.0f), zeros_(size, 0.0f), dscale_(pieces * size), dbias_(pieces * size) {}

  absl::Span<const float> ScaleOf(absl::Span<const float> given) const {
    return OfSize(given.empty() ? ones_ : given);
  }
  absl::Span<const float> BiasOf(absl::Span<const float> given) const {
    return OfSize(given.empty() ? zeros_ : given);
  }

  // The sums of the gradients: `size` for each piece, one piece after the other.
  void ClearSums() {
    std::fill(dscale_.begin(), dscale_.end(), 0.0);
    std::fill(dbias_.begin(), dbias_.end(), 0.0);
  }
  double* dscale_sums() { return dscale_.data(); }
  double* dbias_sums() { return dbias_.data(); }
  // Adds the pieces in order.
  void RoundSums(absl::Span<float> dscale, absl::Span<float> dbias) const {
    Round(dscale_, dscale);
    Round(dbias_, dbias);
  }

 private:
  absl::Span<const float> OfSize(absl::Span<const float> span) const {
    CHECK_EQ(span.size(), ones_.size());
    return span;
  }
  void Round(const std::vector<double>& sums, absl::Span<float> to) const {
    if (to.empty()) return;
    CHECK_EQ(to.size(), ones_.size());
    for (size_t i = 0; i < to.size(); ++i) {
      double sum = 0;
      for (size_t at = i; at < sums.size(); at += to.size()) sum += sums[at];
      to[i] = static_cast<float>(sum);
    }
  }

  const std::vector<float> ones_;
  const std::vector<float> zeros_;
  std::vector<double> dscale_;
  std::vector<double> dbias_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SCALE_AND_BIAS_H_
