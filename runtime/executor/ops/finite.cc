// Whether numbers are finite.

#include <algorithm>
#include <cmath>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

struct IsFinite {
  bool operator()(double value) const { return std::isfinite(value); }
};
struct IsInfinite {
  bool operator()(double value) const { return std::isinf(value); }
};
struct IsNan {
  bool operator()(double value) const { return std::isnan(value); }
};

template <typename IsSo>
absl::Status PlanOfEach(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, layout));
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, type.dims}, layout);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    AddElementStep(op, {x}, out, [](const kernels::ElementBlock& block) {
      const absl::Span<const T> from = block.In<T>(0);
      std::transform(from.begin(), from.end(), block.Out<bool>().begin(),
                     [](T value) { return IsSo()(static_cast<double>(value)); });
    });
    return absl::OkStatus();
  });
}

template <typename IsSo, bool kOfAll>
absl::Status PlanOfTensor(OpPlanner& op) {
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype, op.InputLayout("X")));
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, {1}});
  return WithElementType(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, {out}, [=](const StepContext& run) {
                  const absl::Span<T> all = run.Of<T>(x);
                  const auto is_so = [](T value) { return IsSo()(static_cast<double>(value)); };
                  run.Of<bool>(out)[0] = kOfAll ? std::all_of(all.begin(), all.end(), is_so)
                                                : std::any_of(all.begin(), all.end(), is_so);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace

OpPlans FinitePlans() {
  return {{"isfinite", PlanOfTensor<IsFinite, true>, AlwaysRoundsOnce},
          {"isinf", PlanOfTensor<IsInfinite, false>, AlwaysRoundsOnce},
          {"isnan", PlanOfTensor<IsNan, false>, AlwaysRoundsOnce},
          {"isfinite_v2", PlanOfEach<IsFinite>, AlwaysRoundsOnce},
          {"isinf_v2", PlanOfEach<IsInfinite>, AlwaysRoundsOnce},
          {"isnan_v2", PlanOfEach<IsNan>, AlwaysRoundsOnce}};
}

}  // namespace fixpoint::executor
