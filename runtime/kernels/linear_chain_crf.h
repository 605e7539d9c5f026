// A conditional random field over the tags of a sequence (Lafferty et al. 2001): its likelihood,
// the gradient of that, and the most likely tags.

#ifndef FIXPOINT_RUNTIME_KERNELS_LINEAR_CHAIN_CRF_H_
#define FIXPOINT_RUNTIME_KERNELS_LINEAR_CHAIN_CRF_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// The scores of a sequence: emissions [length, tags], and transition [2 + tags, tags], whose rows
// are the scores of beginning with a tag, of ending with it, and of each tag after each other.
// REQUIRES, here and below: at least one step; labels are tags.
struct CrfSequence {
  const float* emission = nullptr;
  const float* transition = nullptr;
  int64_t length = 0;
  int64_t tags = 0;
};

// The doubles that CrfLoss and CrfLossBackward work in.
inline int64_t CrfScratchSize(int64_t longest, int64_t tags) {
  return 2 * longest * tags + 3 * tags + tags * tags;
}

// The negative logarithm of the likelihood of the labels.
float CrfLoss(const CrfSequence& sequence, const int64_t* labels, absl::Span<double> scratch);

// demission = dloss * the derivatives by emissions; dtransition is added to.
void CrfLossBackward(const CrfSequence& sequence, const int64_t* labels, float dloss,
                     absl::Span<double> scratch, float* demission, double* dtransition);

// The tags with the highest score; of equal ones the lowest tag. `scratch` holds 2 * tags floats,
// `before` length * tags tags.
void CrfDecode(const CrfSequence& sequence, absl::Span<float> scratch, absl::Span<int64_t> before,
               int64_t* path);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LINEAR_CHAIN_CRF_H_
