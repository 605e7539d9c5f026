// The work that the reference's inference passes for oneDNN fold into a product: the bias, a
// residual and the activation after a convolution become part of the op, declared in its inputs and
// attributes. What a product does itself, for the layers above, is OwnWork (op_traits.h).

#ifndef FIXPOINT_OPS_FUSED_WORK_H_
#define FIXPOINT_OPS_FUSED_WORK_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/activation.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The input in a slot that is not a list; null where it is absent or has no variable.
const Argument* FindGivenInput(const Op& op, absl::string_view slot);

// Output = activation(sums + Bias [O] + ResidualData, of Output's dims).
struct FusedWork {
  bool adds_bias = false;
  bool adds_residual = false;
  // kRelu, kClip, kLeakyRelu, kSwish, kSigmoid or kTanh. A clip of NaN is its lower bound.
  std::optional<Activation> activation;

  bool any() const { return adds_bias || adds_residual || activation; }
};

// For conv2d or depthwise_conv2d: fuse_relu and fuse_brelu were written until 1.5, fuse_activation
// with fuse_alpha since; `use_mkldnn` is ignored. The relu is oneDNN's, which makes a NaN 0 in
// every release. Error (kUnimplemented): an activation that nothing here computes, two of them, a
// relu before the sums, or one of ResidualData and fuse_residual_connection without the other.
absl::StatusOr<FusedWork> FusedWorkOf(const Op& op, const OpAttributes& attributes);

// For matmul and its gradient op. Error (kUnimplemented): a reshape, a transpose or heads are fused
// into it, which no kernel here computes.
absl::Status CheckMatmulAlone(const OpAttributes& attributes);

// For code that computes an op alone. Error (kUnimplemented): Bias or ResidualData is there, or an
// attribute declares such work (FindFusedAttribute, op_form.h).
absl::Status CheckNothingFused(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FUSED_WORK_H_
