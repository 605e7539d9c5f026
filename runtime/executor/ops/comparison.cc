// Comparisons and logic of tensors of one type, element by element.

#include "runtime/kernels/comparison.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

using kernels::Comparison;
using kernels::Relation;

// Whether blocks of a loop over `size` elements may read a tensor so
// (runtime/kernels/fused_loops.h).
template <typename T>
bool CanRepeat(const std::optional<kernels::Repetition>& repetition, int64_t size) {
  return repetition &&
         (std::is_same_v<T, float> || repetition->count == 1 || repetition->count == size);
}

absl::Status PlanRelation(OpPlanner& op, Relation relation, int64_t axis) {
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(const std::shared_ptr<Comparison> comparison,
                   Comparison::Plan(relation, {op.InputDims("X"), op.InputDims("Y"), axis}));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", dtype));
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, comparison->out_dims()});
  const auto add = [&](auto element) {
    using T = decltype(element);
    StepKernel kernel{{x, y}, {out}, [=](const StepContext& run) {
                        comparison->Run<T>(run.Of<T>(x), run.Of<T>(y), run.Of<bool>(out));
                        return absl::OkStatus();
                      }};
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, bool>) {
      const auto x_repetition = comparison->x_repetition();
      const auto y_repetition = comparison->y_repetition();
      if (CanRepeat<T>(x_repetition, out.size) && CanRepeat<T>(y_repetition, out.size)) {
        kernel.loops.push_back({out.size,
                                {{x, *x_repetition}, {y, *y_repetition}},
                                out,
                                std::nullopt,
                                [comparison](const kernels::ElementBlock& block) {
                                  comparison->RunBlock<T>(block.In<T>(0), block.In<T>(1),
                                                          block.Out<bool>());
                                }});
      }
    }
    op.AddStep(std::move(kernel));
    return absl::OkStatus();
  };
  switch (dtype) {
    case VarType::BOOL:
      return add(bool());
    case VarType::INT32:
      return add(int32_t());
    case VarType::INT64:
      return add(int64_t());
    case VarType::FP32:
      return add(float());
    default:
      return absl::UnimplementedError(
          absl::StrCat("X is ", TypeName(dtype), "; want bool, i32, i64 or f32"));
  }
}

absl::Status PlanComparison(OpPlanner& op, Relation relation) {
  return PlanRelation(op, relation, op.attributes().Int("axis"));
}

absl::Status PlanLogic(OpPlanner& op, Relation relation) { return PlanRelation(op, relation, -1); }

absl::Status PlanNot(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, type.dims});
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    AddElementStep(op, {x}, out, [](const kernels::ElementBlock& block) {
      const absl::Span<const T> from = block.In<T>(0);
      std::transform(from.begin(), from.end(), block.Out<bool>().begin(),
                     [](T value) { return value == T(); });
    });
    return absl::OkStatus();
  });
}

}  // namespace

OpPlans ComparisonPlans() {
  OpPlans plans = {{"logical_not", PlanNot, AlwaysRoundsOnce}};
  const std::pair<const char*, Relation> comparisons[] = {
      {"equal", Relation::kEqual},          {"not_equal", Relation::kNotEqual},
      {"less_than", Relation::kLess},       {"less_equal", Relation::kLessEqual},
      {"greater_than", Relation::kGreater}, {"greater_equal", Relation::kGreaterEqual}};
  for (const auto& [type, relation] : comparisons) {
    plans.push_back({type,
                     [relation = relation](OpPlanner& op) { return PlanComparison(op, relation); },
                     AlwaysRoundsOnce});
  }
  const std::pair<const char*, Relation> logic[] = {{"logical_and", Relation::kAnd},
                                                    {"logical_or", Relation::kOr},
                                                    {"logical_xor", Relation::kXor}};
  for (const auto& [type, relation] : logic) {
    plans.push_back({type, [relation = relation](OpPlanner& op) { return PlanLogic(op, relation); },
                     AlwaysRoundsOnce});
  }
  return plans;
}

}  // namespace fixpoint::executor
