// Connectionist temporal classification (Graves et al. 2006): the loss of a sequence whose labels
// are not aligned with its steps.

#ifndef FIXPOINT_RUNTIME_KERNELS_CTC_LOSS_H_
#define FIXPOINT_RUNTIME_KERNELS_CTC_LOSS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// A sequence: logits of `classes` at each step, `logits_stride` apart, and their gradients, so far
// apart. REQUIRES: a class for each label and for `blank`.
struct CtcSequence {
  const float* logits = nullptr;
  int64_t logits_stride = 0;
  int64_t gradient_stride = 0;
  int64_t steps = 0;
  int64_t classes = 0;
  int64_t blank = 0;
  const int32_t* labels = nullptr;
  int64_t label_count = 0;
};

// The doubles that CtcLoss works in.
inline int64_t CtcScratchSize(int64_t steps, int64_t label_count) {
  return 2 * (steps + 1) * (2 * label_count + 1);
}

// -ln p(labels), with a softmax inside. `gradient`, like the logits: that of the loss by them.
// Where there are fewer steps than the labels take, both are 0, as in the reference.
float CtcLoss(const CtcSequence& sequence, absl::Span<double> scratch, float* gradient);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CTC_LOSS_H_
