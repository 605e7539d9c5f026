// What is counted of predictions.

#include <memory>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/kernels/ranking.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;
using kernels::TopK;

absl::Status AddTopK(OpPlanner& op, int64_t axis, bool largest) {
  if (op.HasInput("K")) return absl::UnimplementedError("input K is there; want it absent");
  Dims dims = op.InputDims("X");
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(dims.size())));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(dims, axis));
  const int64_t k = op.attributes().Int("k");
  ASSIGN_OR_RETURN(
      std::shared_ptr<TopK> top_k,
      TopK::Plan(lines, k, largest ? TopK::Order::kDescending : TopK::Order::kAscending));
  dims[at] = k;
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, dims});
  const Buffer indices = op.WriteAs("Indices", {VarType::INT64, dims});
  op.AddStep({{x}, {out, indices}, [=](const StepContext& run) {
                top_k->Run(run.Floats(x), run.Floats(out), run.Of<int64_t>(indices));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanTopK(OpPlanner& op) { return AddTopK(op, -1, /*largest=*/true); }
absl::Status PlanTopKV2(OpPlanner& op) {
  return AddTopK(op, op.attributes().Int("axis"), op.attributes().Bool("largest"));
}

// The share of rows one of whose Indices [N, k] is their Label [N, 1].
absl::Status PlanAccuracy(OpPlanner& op) {
  const Dims& dims = op.InputDims("Indices");
  if (dims.size() != 2 || op.InputType("Label").size() != dims[0]) {
    return absl::InvalidArgumentError(absl::StrCat("Indices is ", DimsText(dims), " and Label ",
                                                   DimsText(op.InputDims("Label")),
                                                   "; want [N, k] and [N, 1]"));
  }
  const int64_t k = dims[1];
  ASSIGN_OR_RETURN(const Buffer indices, op.Read("Indices", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer label, op.Read("Label", VarType::INT64));
  const Buffer correct = op.WriteAs("Correct", {VarType::INT32, {1}});
  const Buffer total = op.WriteAs("Total", {VarType::INT32, {1}});
  const Buffer accuracy = op.WriteAs("Accuracy", {VarType::FP32, {1}});
  op.AddStep({{indices, label}, {correct, total, accuracy}, [=](const StepContext& run) {
                const int64_t hits =
                    kernels::CountCorrect(run.Of<int64_t>(indices), k, run.Of<int64_t>(label));
                run.Of<int32_t>(correct)[0] = static_cast<int32_t>(hits);
                run.Of<int32_t>(total)[0] = static_cast<int32_t>(label.size);
                run.Floats(accuracy)[0] = static_cast<float>(hits) / static_cast<float>(label.size);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans MetricPlans() {
  return {{"top_k", PlanTopK}, {"top_k_v2", PlanTopKV2}, {"accuracy", PlanAccuracy}};
}

}  // namespace fixpoint::executor
