// Attention.

#include <utility>

#include "ops/attention_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/softmax.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// softmax(alpha * Q K^T + Mask) V. Scores, masked ones and probabilities are of the inputs' type,
// as the components of the op write them: a mask of -1e9 leaves nothing of a score in FP32.
absl::Status Attend(OpRun& op) {
  const Array& q = op.Input("Q");
  const Array& k = op.Input("K");
  const Array& v = op.Input("V");
  ASSIGN_OR_RETURN(const AttentionShape shape, AttentionShapeOf(q.dims, k.dims, v.dims));
  const int64_t columns = shape.scores.back();
  const int64_t rows = shape.scores[shape.scores.size() - 2];
  const int64_t depth = q.dims.back();
  const int64_t width = v.dims.back();
  const double alpha = op.Float("alpha");
  const Array* const mask = op.FindInput("Mask");
  if (mask != nullptr) RETURN_IF_ERROR(CheckAttentionMask(shape.scores, mask->dims));
  ASSIGN_OR_RETURN(const Pairing pairing,
                   Pair(shape.scores, mask != nullptr ? mask->dims : Dims{1}));

  Array out(q.dtype, shape.out);
  // One row of scores at a time: all of them may be more than memory holds.
  Array scores(q.dtype, Dims{width == 0 ? 0 : columns});
  if (out.size() > 0) {
    ForEachPair(pairing, [&](int64_t i, int64_t, int64_t m) {
      const int64_t row = i / columns;
      const int64_t column = i % columns;
      const int64_t first = row / rows * columns;
      double& score = scores[column];
      score = 0;
      for (int64_t d = 0; d < depth; ++d) {
        score += q[row * depth + d] * k[(first + column) * depth + d];
      }
      score = Rounded(alpha * score, q.dtype);
      if (mask != nullptr) score = Rounded(score + (*mask)[m], q.dtype);
      if (column + 1 < columns) return;
      Array probabilities = SoftmaxOf(scores, ViewAround(scores.dims, 0));
      for (double& p : probabilities.values) p = Rounded(p, q.dtype);
      for (int64_t n = 0; n < columns; ++n) {
        for (int64_t c = 0; c < width; ++c) {
          out[row * width + c] += probabilities[n] * v[(first + n) * width + c];
        }
      }
    });
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels AttentionKernels() { return {{"scaled_dot_product_attention", Attend}}; }

}  // namespace fixpoint::reference
