// Ops that repeat a tensor along its axes; their gradients sum.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/copy_step.h"
#include "runtime/executor/ops/placed_elements.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

using kernels::StridedCopy;

// X, seen as of those dims, and how often it is repeated on each axis.
struct Repetition {
  Dims x_dims;
  std::vector<int64_t> times;
};
using RepetitionFunction = absl::StatusOr<Repetition> (*)(const OpPlanner& op);

absl::StatusOr<Dims> DimsOf(const Repetition& repetition) {
  Dims dims;
  for (size_t i = 0; i < repetition.x_dims.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t dim, ElementCount({repetition.times[i], repetition.x_dims[i]}));
    dims.push_back(dim);
  }
  return dims;
}

// [times, size] of each axis of the result.
Dims PlacesOf(const Repetition& repetition) {
  Dims places;
  for (size_t i = 0; i < repetition.x_dims.size(); ++i) {
    places.insert(places.end(), {repetition.times[i], repetition.x_dims[i]});
  }
  return places;
}

absl::Status PlanRepeat(OpPlanner& op, RepetitionFunction repetition_of) {
  ASSIGN_OR_RETURN(const Repetition repetition, repetition_of(op));
  ASSIGN_OR_RETURN(const Dims dims, DimsOf(repetition));
  const VarType::Type dtype = op.InputType("X").dtype;
  const Dims places = PlacesOf(repetition);
  // Going on by one of the times does not move in X.
  kernels::StridedLayout from;
  for (const int64_t stride : kernels::RowMajorLayout(repetition.x_dims).strides) {
    from.strides.insert(from.strides.end(), {0, stride});
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<StridedCopy> copy,
                   StridedCopy::Plan(places, from, kernels::RowMajorLayout(places)));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  const Buffer out = op.WriteAs("Out", {dtype, dims});
  return AddCopy(op, dtype, copy, x, out);
}

absl::Status PlanGradient(OpPlanner& op, RepetitionFunction repetition_of) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Repetition repetition, repetition_of(op));
  const TensorType x = op.InputType("X");
  ASSIGN_OR_RETURN(const Dims dims, DimsOf(repetition));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", TensorType{x.dtype, dims}.size()));
  std::vector<AxisSums> sums;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t times = repetition.times[i];
    if (times == 1) continue;
    RETURN_IF_ERROR(CheckPlanned(times));
    AxisSums of_axis{2 * static_cast<int>(i), {}};
    for (int64_t t = 0; t < times; ++t) {
      of_axis.taps.places.push_back(static_cast<int32_t>(t));
      of_axis.taps.weights.push_back(1);
    }
    of_axis.taps.End();
    sums.push_back(of_axis);
  }
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", x);
  AddAxisSums(op, dout, PlacesOf(repetition), sums, dx);
  return absl::OkStatus();
}

absl::StatusOr<Repetition> Expand(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("ExpandTimes"));
  RETURN_IF_ERROR(op.CheckAbsent("expand_times_tensor"));
  const Dims& dims = op.InputDims("X");
  const std::vector<int64_t> times = op.attributes().Ints("expand_times");
  if (times.size() == dims.size()) return Repetition{dims, times};
  return absl::InvalidArgumentError(absl::StrCat("expand_times has ", times.size(),
                                                 " values and X is ", DimsText(dims),
                                                 "; want one for each dimension"));
}

// The shorter of dims and times is filled up with 1s in front.
absl::StatusOr<Repetition> Tile(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("RepeatTimes"));
  RETURN_IF_ERROR(op.CheckAbsent("repeat_times_tensor"));
  Dims dims = op.InputDims("X");
  std::vector<int64_t> times = op.attributes().Ints("repeat_times");
  if (times.size() < dims.size()) times.insert(times.begin(), dims.size() - times.size(), 1);
  if (dims.size() < times.size()) dims.insert(dims.begin(), times.size() - dims.size(), 1);
  return Repetition{dims, times};
}

// X broadcast to a shape; -1 keeps X's dimension.
absl::StatusOr<Repetition> BroadcastTo(const OpPlanner& op, const std::vector<int64_t>& shape) {
  Repetition repetition{op.InputDims("X"), {}};
  Dims& dims = repetition.x_dims;
  bool fits = shape.size() >= dims.size();
  if (fits) dims.insert(dims.begin(), shape.size() - dims.size(), 1);
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    const bool keeps = shape[i] == -1 || shape[i] == dims[i];
    fits = keeps || dims[i] == 1;
    repetition.times.push_back(keeps ? 1 : shape[i]);
  }
  if (fits) return repetition;
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(op.InputDims("X")),
                                                 " and the shape [", absl::StrJoin(shape, ", "),
                                                 "]; want X's sizes, or any where X has 1"));
}

absl::StatusOr<Repetition> ExpandV2(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("Shape"));
  RETURN_IF_ERROR(op.CheckAbsent("expand_shapes_tensor"));
  return BroadcastTo(op, op.attributes().Ints("shape"));
}

// The gradient op has the attribute alone.
absl::StatusOr<Repetition> ExpandAsV2(const OpPlanner& op) {
  if (!op.HasInputSlot("Y") || !op.HasInput("Y")) {
    return BroadcastTo(op, op.attributes().Ints("target_shape"));
  }
  const Dims& y = op.InputDims("Y");
  return BroadcastTo(op, {y.begin(), y.end()});
}

// Version 1 repeats X until it has the target's sizes.
absl::StatusOr<Repetition> ExpandAs(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& target = op.InputDims("target_tensor");
  Repetition repetition{x, {}};
  for (size_t i = 0; i < x.size() && x.size() == target.size(); ++i) {
    if (x[i] == 0 || target[i] % x[i] != 0) break;
    repetition.times.push_back(target[i] / x[i]);
  }
  if (repetition.times.size() == x.size() && x.size() == target.size()) return repetition;
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and target_tensor is ",
                                                 DimsText(target),
                                                 "; want multiples of X's sizes"));
}

}  // namespace

OpPlans RepetitionPlans() {
  OpPlans plans;
  const auto add = [&](const std::string& type, RepetitionFunction repetition_of) {
    plans.push_back(
        {type, [=](OpPlanner& op) { return PlanRepeat(op, repetition_of); }, AlwaysRoundsOnce});
    plans.push_back(
        {type + "_grad", [=](OpPlanner& op) { return PlanGradient(op, repetition_of); }});
  };
  add("expand", Expand);
  add("tile", Tile);
  add("expand_v2", ExpandV2);
  add("expand_as_v2", ExpandAsV2);
  add("expand_as", ExpandAs);
  return plans;
}

}  // namespace fixpoint::executor
