// What a training schedule switches on at a step. Ops that the reference does not have.
//
// The other half of schedules is no op: an op with a test mode enters it at the step that its
// attribute test_from_step gives (kTestFromStepAttr).

#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferSelect(InferContext& op) {
  op.SetOutputLike("Out", op.InputCount("X") > 0 ? op.Input("X") : op.Input("Before"));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ScheduleOps() {
  OpList ops;
  ops.Define("select_from_step(X?, Before?, Step) -> (Out)")
      .Doc(
          "Out = X where Step, an INT64 [1] that counts steps from 1, is from_step or more, else "
          "Before; it has the offsets of the one it is. One of them that is absent is zeros of the "
          "other's shape.")
      .Attr("from_step", Required(LONG))
      .Infer(InferSelect)
      .Gradient("select_from_step_grad(Step, Out@GRAD) -> (X@GRAD, Before@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD", "Before@GRAD"}));
  return ops.Build();
}

}  // namespace fixpoint
