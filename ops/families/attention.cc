// Attention as one op, for targets that compute it whole. The reference has it as products and a
// softmax.

#include "ops/attention_shape.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferAttention(InferContext& op) {
  const TensorInfo q = op.Input("Q");
  const TensorInfo k = op.Input("K");
  const TensorInfo v = op.Input("V");
  op.SetOutput("Out", q.dtype, std::nullopt);
  if (!q.has_dims() || !k.has_dims() || !v.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const AttentionShape shape, AttentionShapeOf(q.dims, k.dims, v.dims));
  const TensorInfo mask = op.Input("Mask");
  if (mask.has_dims()) RETURN_IF_ERROR(CheckAttentionMask(shape.scores, mask.dims));
  op.SetOutput("Out", q.dtype, shape.out);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> AttentionOps() {
  OpList ops;
  ops.Define("scaled_dot_product_attention(Q, K, V, Mask?) -> (Out)")
      .Doc(
          "softmax(alpha Q K^T + Mask) V over the last two dimensions: Q [..., M, D], "
          "K [..., N, D], V [..., N, C].")
      .Attr("alpha", Float(1))
      .Infer(InferAttention)
      .GradientNotKnown();
  return ops.Build();
}

}  // namespace fixpoint
