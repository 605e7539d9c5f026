// unfold: windows of images as columns; and fold: their sums as images.

#include "ops/unfolding.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
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

// That of the images of fold, which inference finds to fit X.
absl::StatusOr<Unfolding> FoldingOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const OpAttributes& attributes = op.attributes();
  const std::vector<int64_t> sizes = attributes.Ints("output_sizes");
  const std::vector<int64_t> kernel = attributes.Ints("kernel_sizes");
  if (x.size() != 3 || sizes.size() != 2 || kernel.size() != 2 || kernel[0] < 1 || kernel[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want [N, C * kernel, windows], with 2 positive ",
                     "values of kernel_sizes and 2 of output_sizes"));
  }
  ASSIGN_OR_RETURN(const int64_t taps, ElementCount({kernel[0], kernel[1]}));
  ASSIGN_OR_RETURN(
      const Unfolding unfolding,
      Unfolding::Of(Dims{x[0], x[1] / taps, sizes[0], sizes[1]}, kernel, attributes.Ints("strides"),
                    attributes.Ints("paddings"), attributes.Ints("dilations")));
  ASSIGN_OR_RETURN(const Dims columns, unfolding.OutDims());
  RETURN_IF_ERROR(op.CheckDims("X", columns));
  return unfolding;
}

Dims ImageDims(const Unfolding& unfolding) {
  return {unfolding.batch, unfolding.channels, unfolding.rows.size, unfolding.columns.size};
}

absl::Status PlanFold(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unfolding unfolding, FoldingOf(op));
  RETURN_IF_ERROR(ElementCount(ImageDims(unfolding)).status());
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteAs("Y", {VarType::FP32, ImageDims(unfolding)});
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
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", ImageDims(unfolding)));
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
