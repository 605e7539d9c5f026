// lrn.

#include "runtime/kernels/response_norm.h"

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<kernels::ResponseNorm> NormOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const int64_t n = op.attributes().Int("n");
  if (x.size() != 4 || n < 1 || n % 2 == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), " and n ", n, "; want 4 dimensions and an odd number"));
  }
  kernels::ResponseNorm norm;
  const bool channels_last = IsChannelsLast(op.attributes().String("data_format"));
  norm.outer = channels_last ? x[0] * x[1] * x[2] : x[0];
  norm.channels = x[channels_last ? 3 : 1];
  norm.inner = channels_last ? 1 : x[2] * x[3];
  norm.reach = n / 2;
  norm.k = op.Number("k");
  norm.alpha = op.Number("alpha");
  norm.beta = op.Number("beta");
  return norm;
}

absl::Status PlanLrn(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::ResponseNorm norm, NormOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer sums = op.WriteAs("MidOut", op.InputType("X"));
  const Buffer out = op.WriteAs("Out", op.InputType("X"));
  op.AddStep({{x}, {sums, out}, [=](const StepContext& run) {
                norm.Forward(run.Floats(x), run.Floats(sums), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::ResponseNorm norm, NormOf(op));
  for (const char* slot : {"Out", "MidOut", "Out@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, op.InputDims("X")));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer sums, op.ReadFloats("MidOut"));
  ASSIGN_OR_RETURN(const Buffer out, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, sums, out, dout}, {dx}, [=](const StepContext& run) {
                norm.Backward(run.Floats(x), run.Floats(sums), run.Floats(out), run.Floats(dout),
                              run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ResponseNormPlans() { return {{"lrn", PlanLrn}, {"lrn_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
