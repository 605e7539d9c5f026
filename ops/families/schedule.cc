// What a training schedule switches on at a step. Ops that the reference does not have.
//
// The other half of schedules is no op: an op with a test mode enters it at the step that its
// attribute test_from_step gives (kTestFromStepAttr).

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferSelect(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo before = op.Input("Before");
  op.SetOutputLike("Out", op.InputCount("X") > 0 ? x : before);
  if (x.has_dims() && before.has_dims() && !MayBeEqual(x.dims, before.dims)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Before is ", DimsText(before.dims), " and X is ", DimsText(x.dims), "; want one shape"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ScheduleOps() {
  OpList ops;
  ops.Define("select_from_step(X?, Before?, Step) -> (Out)")
      .Doc(
          "Out = X where Step, an INT64 [1] that counts steps from 1, is from_step or more, else "
          "Before, with the offsets of that one; the other is not looked at. One of them that is "
          "absent is zeros of the "
          "other's shape.")
      .Attr("from_step", Required(LONG))
      .Infer(InferSelect)
      .Gradient("select_from_step_grad(Step, Out@GRAD) -> (X@GRAD, Before@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD", "Before@GRAD"}));
  return ops.Build();
}

}  // namespace fixpoint
