// Training in low precision: gradients of a scaled loss, and the scale.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferUnscale(InferContext& op) {
  for (int i = 0; i < op.InputCount("X"); ++i) op.SetOutputLike("Out", i, op.Input("X", i));
  op.SetOutput("FoundInfinite", VarType::BOOL, Dims{1});
  return absl::OkStatus();
}

absl::Status InferUpdate(InferContext& op) {
  for (int i = 0; i < op.InputCount("X"); ++i) op.SetOutputLike("Out", i, op.Input("X", i));
  op.SetOutputLike("LossScaling", op.Input("PrevLossScaling"));
  op.SetOutputLike("OutGoodSteps", op.Input("InGoodSteps"));
  op.SetOutputLike("OutBadSteps", op.Input("InBadSteps"));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> LossScalingOps() {
  OpList ops;
  ops.Define("check_finite_and_unscale(X*, Scale) -> (Out*, FoundInfinite)")
      .Doc("Out = X / Scale, and FoundInfinite, BOOL [1]: whether an element of X is not finite.")
      .Infer(InferUnscale)
      .TakeLod({});
  ops.Define(
         "update_loss_scaling(X*, FoundInfinite, PrevLossScaling, InGoodSteps, InBadSteps, "
         "StopUpdate?) -> (Out*, LossScaling, OutGoodSteps, OutBadSteps)")
      .Doc(
          "Out = X, or 0 if FoundInfinite. The scale is multiplied by incr_ratio after "
          "incr_every_n_steps good steps, unless that is infinite, and by decr_ratio, to not less "
          "than 1, after decr_every_n_nan_or_inf bad ones; with stop_update it stays.")
      .Attr("incr_every_n_steps", Required(INT))
      .Attr("decr_every_n_nan_or_inf", Required(INT))
      .Attr("incr_ratio", Required(FLOAT))
      .Attr("decr_ratio", Required(FLOAT))
      .Attr("stop_update", Bool(false))
      .Infer(InferUpdate)
      .TakeLod({});
  return ops.Build();
}

}  // namespace fixpoint
