// The largest elements along an axis, and the accuracy of predictions.

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/kernels/ranking.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;
using kernels::TopK;

// The first k of each line in order, and where they were.
absl::Status AddOrdered(OpPlanner& op, int axis, int64_t k, bool largest) {
  Dims dims = op.InputDims("X");
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(dims, axis));
  ASSIGN_OR_RETURN(
      std::shared_ptr<TopK> top_k,
      TopK::Plan(lines, k, largest ? TopK::Order::kDescending : TopK::Order::kAscending));
  dims[axis] = k;
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, dims});
  const Buffer indices = op.WriteAs("Indices", {VarType::INT64, dims});
  op.AddStep({{x}, {out, indices}, [=](const StepContext& run) {
                top_k->Run(run.Floats(x), run.Floats(out), run.Of<int64_t>(indices));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status AddTopK(OpPlanner& op, int64_t axis, bool largest) {
  RETURN_IF_ERROR(op.CheckAbsent("K"));
  const int rank = static_cast<int>(op.InputDims("X").size());
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, rank));
  RETURN_IF_ERROR(AddOrdered(op, at, op.attributes().Int("k"), largest));
  if (at == 0) return absl::OkStatus();
  for (const char* output : {"Out", "Indices"}) op.KeepRows("X", output);
  return absl::OkStatus();
}

absl::Status PlanSort(OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(op.attributes().Int("axis"), static_cast<int>(dims.size())));
  return AddOrdered(op, axis, dims[axis], op.attributes().Bool("descending"));
}

absl::Status PlanTopK(OpPlanner& op) { return AddTopK(op, -1, /*largest=*/true); }
absl::Status PlanTopKV2(OpPlanner& op) {
  return AddTopK(op, op.attributes().Int("axis"), op.attributes().Bool("largest"));
}

// Error: an index is no place in a line.
absl::Status CheckIndices(absl::Span<const int64_t> indices, int64_t length) {
  for (const int64_t index : indices) {
    if (index >= 0 && index < length) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Indices has ", index, "; want 0 to ", length - 1));
  }
  return absl::OkStatus();
}

absl::Status PlanTopKGradient(OpPlanner& op, int64_t axis) {
  const TensorType x_type = op.InputType("X");
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(x_type.dims.size())));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(x_type.dims, axis));
  const Dims& indices_dims = op.InputDims("Indices");
  Dims dims = x_type.dims;
  if (indices_dims.size() == dims.size()) dims[at] = indices_dims[at];
  if (indices_dims != dims || op.InputDims("Out@GRAD") != dims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", DimsText(x_type.dims), ", Indices ", DimsText(indices_dims), " and Out@GRAD ",
        DimsText(op.InputDims("Out@GRAD")), "; want the last two equal, and X but for the axis"));
  }
  // The order is that of the values, which the gradient does not read.
  ASSIGN_OR_RETURN(const std::shared_ptr<TopK> top_k,
                   TopK::Plan(lines, dims[at], TopK::Order::kDescending));
  ASSIGN_OR_RETURN(const Buffer indices, op.Read("Indices", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", x_type);
  op.AddStep({{indices, dout}, {dx}, [=](const StepContext& run) {
                RETURN_IF_ERROR(CheckIndices(run.Of<int64_t>(indices), lines.length));
                top_k->Backward(run.Of<int64_t>(indices), run.Floats(dout), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// find_places(lines, x, places), with places of T.
template <typename T, typename FindPlaces>
absl::Status AddArgMaxStep(OpPlanner& op, const Lines& lines, const TensorType& places_type,
                           FindPlaces find_places) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", places_type);
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                find_places(lines, run.Floats(x), run.Of<T>(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

template <typename FindPlaces>
absl::Status PlanArgMax(OpPlanner& op, FindPlaces find_places) {
  const TensorType type = op.InputType("X");
  Dims dims = type.dims;
  if (op.attributes().Bool("flatten")) dims = {type.size()};
  const int64_t axis = op.attributes().Int("axis");
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(dims.size())));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(dims, axis));
  VarType::Type dtype = VarType::INT64;
  if (op.attributes().Int("dtype") >= 0) {
    ASSIGN_OR_RETURN(dtype, op.attributes().DataType("dtype"));
  }
  dims[at] = 1;
  if (!op.attributes().Bool("keepdims") && dims.size() > 1) dims.erase(dims.begin() + at);
  if (dtype == VarType::INT32) return AddArgMaxStep<int32_t>(op, lines, {dtype, dims}, find_places);
  if (dtype == VarType::INT64) return AddArgMaxStep<int64_t>(op, lines, {dtype, dims}, find_places);
  return absl::UnimplementedError(absl::StrCat("dtype is ", TypeName(dtype), "; want i32 or i64"));
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
  return {{"top_k", PlanTopK},
          {"top_k_grad", [](OpPlanner& op) { return PlanTopKGradient(op, -1); }},
          {"top_k_v2", PlanTopKV2},
          {"top_k_v2_grad",
           [](OpPlanner& op) { return PlanTopKGradient(op, op.attributes().Int("axis")); }},
          {"argsort", PlanSort},
          {"arg_max",
           [](OpPlanner& op) {
             return PlanArgMax(op, [](const auto&... of) { kernels::ArgMax(of...); });
           }},
          {"arg_min",
           [](OpPlanner& op) {
             return PlanArgMax(op, [](const auto&... of) { kernels::ArgMin(of...); });
           }},
          {"accuracy", PlanAccuracy}};
}

}  // namespace fixpoint::executor
