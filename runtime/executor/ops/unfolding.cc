// unfold: windows of images as columns; and fold: their sums as images.

#include "ops/unfolding.h"

#include <algorithm>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<Unfolding> UnfoldingOf(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  return Unfolding::Of(op.InputDims("X"), attributes.Ints("kernel_sizes"),
                       attributes.Ints("strides"), attributes.Ints("paddings"),
                       attributes.Ints("dilations"));
}

absl::Status PlanUnfold(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, UnfoldingOf(op));
  ASSIGN_OR_RETURN(const Dims dims, unfolding.OutDims());
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  const Buffer y = op.WriteAs("Y", {dtype, dims});
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, {y}, [=](const StepContext& run) {
                  const T* const from = run.Of<T>(x).data();
                  T* const to = run.Of<T>(y).data();
                  std::fill_n(to, y.size, T());
                  unfolding.ForEachTap([=](int64_t x_i, int64_t y_i) { to[y_i] = from[x_i]; });
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, UnfoldingOf(op));
  ASSIGN_OR_RETURN(const Dims dims, unfolding.OutDims());
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", dims));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, op.InputDims("X")});
  op.AddStep({{dy}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(dy).data();
                float* const to = run.Floats(dx).data();
                std::fill_n(to, dx.size, 0.0f);
                unfolding.ForEachTap([=](int64_t x_i, int64_t y_i) { to[x_i] += from[y_i]; });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::StatusOr<Unfolding> FoldingOf(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  return Unfolding::OfColumns(op.InputDims("X"), attributes.Ints("output_sizes"),
                              attributes.Ints("kernel_sizes"), attributes.Ints("strides"),
                              attributes.Ints("paddings"), attributes.Ints("dilations"));
}

absl::Status PlanFold(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteAs("Y", {VarType::FP32, unfolding.ImageDims()});
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                float* const to = run.Floats(y).data();
                std::fill_n(to, y.size, 0.0f);
                unfolding.ForEachTap([=](int64_t y_i, int64_t x_i) { to[y_i] += from[x_i]; });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanFoldGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", unfolding.ImageDims()));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, op.InputDims("X")});
  op.AddStep({{dy}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(dy).data();
                float* const to = run.Floats(dx).data();
                std::fill_n(to, dx.size, 0.0f);
                unfolding.ForEachTap([=](int64_t y_i, int64_t x_i) { to[x_i] = from[y_i]; });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans UnfoldingPlans() {
  return {{"unfold", PlanUnfold, AlwaysRoundsOnce},
          {"unfold_grad", PlanGradient},
          {"fold", PlanFold},
          {"fold_grad", PlanFoldGradient}};
}

}  // namespace fixpoint::executor
