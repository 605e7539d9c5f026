// Constants and random tensors. runtime/random.h defines the numbers.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/random.h"

namespace fixpoint::executor {
namespace {

// What the attributes `shape` and `dtype` say; a scalar is [1] in plans.
absl::StatusOr<TensorType> FilledType(const OpPlanner& op) {
  for (const char* slot : {"ShapeTensor", "ShapeTensorList"}) {
    if (op.HasInputSlot(slot) && op.HasInput(slot)) {
      return absl::UnimplementedError(absl::StrCat("input ", slot, " is there; want it absent"));
    }
  }
  TensorType type;
  ASSIGN_OR_RETURN(type.dtype, op.attributes().DataType("dtype"));
  const std::vector<int64_t> shape = op.attributes().Ints("shape");
  type.dims.assign(shape.begin(), shape.end());
  if (type.dims.empty()) type.dims = {1};
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape is ", DimsText(type.dims), "; want no negative sizes"));
  }
  return type;
}

absl::Status PlanFillConstant(OpPlanner& op) {
  if (op.HasInput("ValueTensor")) {
    return absl::UnimplementedError("input ValueTensor is there; want it absent");
  }
  // str_value goes before value where it is not empty.
  const std::string text = op.attributes().String("str_value");
  double value = op.attributes().Float("value");
  if (!text.empty() && !absl::SimpleAtod(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("str_value is \"", text, "\"; want a number, \"inf\", \"-inf\" or \"nan\""));
  }
  ASSIGN_OR_RETURN(const TensorType type, FilledType(op));
  const Buffer out = op.WriteAs("Out", type);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [out, value = static_cast<T>(value)](const StepContext& run) {
                  const absl::Span<T> elements = run.Of<T>(out);
                  std::fill(elements.begin(), elements.end(), value);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// Adds the step that fills Out with draw(numbers, i).
template <typename Draw>
absl::Status PlanDraw(OpPlanner& op, Draw draw) {
  ASSIGN_OR_RETURN(const TensorType type, FilledType(op));
  const Buffer out = op.WriteAs("Out", type);
  const int64_t seed = op.attributes().Int("seed");
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [=, number = op.number()](const StepContext& run) {
                  const RandomStream random = seed != 0
                                                  ? RandomStream(static_cast<uint64_t>(seed), 0, 0)
                                                  : run.Random(number);
                  const absl::Span<T> elements = run.Of<T>(out);
                  for (size_t i = 0; i < elements.size(); ++i) {
                    elements[i] = static_cast<T>(draw(random, i));
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanUniform(OpPlanner& op) {
  if (op.attributes().Int("diag_num") != 0) {
    return absl::UnimplementedError(
        absl::StrCat("diag_num is ", op.attributes().Int("diag_num"), "; want 0, no diagonal"));
  }
  const double min = op.attributes().Float("min");
  const double max = op.attributes().Float("max");
  return PlanDraw(op, [=](const RandomStream& random, uint64_t i) {
    return min + (max - min) * random.Uniform(i);
  });
}

using Drawing = double (RandomStream::*)(uint64_t i) const;
absl::Status PlanNormal(OpPlanner& op, Drawing drawing) {
  const double mean = op.attributes().Float("mean");
  const double stddev = op.attributes().Float("std");
  return PlanDraw(op, [=](const RandomStream& random, uint64_t i) {
    return mean + stddev * (random.*drawing)(i);
  });
}

}  // namespace

OpPlans FillingPlans() {
  return {
      {"fill_constant", PlanFillConstant},
      {"uniform_random", PlanUniform},
      {"gaussian_random", [](OpPlanner& op) { return PlanNormal(op, &RandomStream::Normal); }},
      {"truncated_gaussian_random",
       [](OpPlanner& op) { return PlanNormal(op, &RandomStream::TruncatedNormal); }},
  };
}

}  // namespace fixpoint::executor
