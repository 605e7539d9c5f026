// Softmax along an axis, and its loss with respect to labels.

#ifndef FIXPOINT_RUNTIME_KERNELS_SOFTMAX_H_
#define FIXPOINT_RUNTIME_KERNELS_SOFTMAX_H_

#include "absl/types/span.h"
#include "runtime/kernels/labels.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// As in the reference no logit counts as less than 64 below the largest of its line. A line with a
// NaN, or with an infinite maximum, is NaN. y may be x. REQUIRES, here and below: spans of elements
// have lines.size() of them, and those of lines lines.count().
void Softmax(const Lines& lines, absl::Span<const float> x, absl::Span<float> y);
// dx = y * (dy - the line's sum of y * dy). dx may be dy.
void SoftmaxBackward(const Lines& lines, absl::Span<const float> y, absl::Span<const float> dy,
                     absl::Span<float> dx);

// The logarithm of softmax, with the same lower bound on logits.
void LogSoftmax(const Lines& lines, absl::Span<const float> x, absl::Span<float> y);

// softmax, and the loss of each line, -sum of label * log softmax over the labels that are not 0;
// it is computed from the logits, so that it is finite where they are. softmax must not be the
// logits. REQUIRES, here and below: CheckLabels is ok.
void SoftmaxCrossEntropy(const Lines& lines, absl::Span<const float> logits, const Labels& labels,
                         absl::Span<float> softmax, absl::Span<float> loss);
// dlogits = (softmax - label) * dloss, and 0 in a line that is ignored. dlogits may be softmax.
void SoftmaxCrossEntropyBackward(const Lines& lines, absl::Span<const float> softmax,
                                 const Labels& labels, absl::Span<const float> dloss,
                                 absl::Span<float> dlogits);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SOFTMAX_H_
