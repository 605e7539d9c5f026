// dot: products of the vectors along the last axis.

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/lane_sums.h"

namespace fixpoint::executor {
namespace {

// The length of each vector.
absl::StatusOr<int64_t> WidthOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  RETURN_IF_ERROR(op.CheckDims("Y", x));
  if (!x.empty() && x.back() >= 1) return x.back();
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", DimsText(x), "; want vectors along its last axis"));
}

absl::Status PlanDot(OpPlanner& op) {
  ASSIGN_OR_RETURN(const int64_t width, WidthOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  Dims dims = op.InputDims("X");
  if (op.era() == Era::kPaddle2 && dims.size() > 1) {
    dims.pop_back();
  } else {
    dims.back() = 1;
  }
  const Buffer out = op.WriteAs("Out", {VarType::FP32, dims});
  op.AddStep({{x, y}, {out}, [=](const StepContext& run) {
                const float* a = run.Floats(x).data();
                const float* b = run.Floats(y).data();
                for (float& product : run.Floats(out)) {
                  product = static_cast<float>(kernels::LaneSum(
                      width, [=](int64_t i) { return static_cast<double>(a[i]) * b[i]; }));
                  a += width;
                  b += width;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The gradient of one operand is the other one times that of the products.
absl::Status AddGradient(OpPlanner& op, int64_t width, const char* other, const char* output) {
  if (!op.Wants(output)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer operand, op.ReadFloats(other));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer gradient = op.WriteAs(output, op.InputType(other));
  op.AddStep({{operand, dout}, {gradient}, [=](const StepContext& run) {
                const absl::Span<const float> from = run.Floats(operand);
                const absl::Span<const float> products = run.Floats(dout);
                const absl::Span<float> to = run.Floats(gradient);
                for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] * products[i / width];
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const int64_t width, WidthOf(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.InputType("X").size() / width));
  RETURN_IF_ERROR(AddGradient(op, width, "Y", "X@GRAD"));
  return AddGradient(op, width, "X", "Y@GRAD");
}

}  // namespace

OpPlans DotPlans() { return {{"dot", PlanDot}, {"dot_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
