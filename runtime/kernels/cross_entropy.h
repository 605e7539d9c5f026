// The losses of probabilities, and of single logits, with respect to labels.

#ifndef FIXPOINT_RUNTIME_KERNELS_CROSS_ENTROPY_H_
#define FIXPOINT_RUNTIME_KERNELS_CROSS_ENTROPY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/labels.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// x are probabilities; the loss of a line is -sum of label * log x over the labels that are not 0,
// a probability of 0 counting as 1e20. REQUIRES, here and below: spans of elements have
// lines.size() of them, those of lines lines.count(); CheckLabels is ok.
void CrossEntropy(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                  absl::Span<float> loss);
// dx = -label * dloss / x, and 0 where the label is.
void CrossEntropyBackward(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                          absl::Span<const float> dloss, absl::Span<float> dx);

// The probability of each line's class, 0 for a line that is ignored: what cross_entropy2 keeps for
// its gradient. REQUIRES, here and below: the labels are not soft.
void MatchedProbabilities(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                          absl::Span<float> matched);
void MatchedCrossEntropyBackward(const Lines& lines, absl::Span<const float> matched,
                                 const Labels& labels, absl::Span<const float> dloss,
                                 absl::Span<float> dx);

// For each logit with a label of its own: max(x, 0) - x * label + log(1 + exp(-|x|)); 0 where the
// label is `ignored`.
void SigmoidCrossEntropy(absl::Span<const float> x, absl::Span<const float> labels, float ignored,
                         absl::Span<float> loss);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CROSS_ENTROPY_H_
