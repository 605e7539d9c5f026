// Ops that repeat a tensor along its axes; their gradients sum.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X, seen as of those dims, and how often it is repeated on each axis.
struct Repetition {
  Dims x_dims;
  std::vector<int64_t> times;
};
using RepetitionFunction = absl::StatusOr<Repetition> (*)(const OpRun& op);

absl::StatusOr<Dims> DimsOf(const OpRun& op, const Repetition& repetition) {
  Dims dims = repetition.x_dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repetition.times[i] < 0 || __builtin_mul_overflow(dims[i], repetition.times[i], &dims[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsText(op.Input("X").dims), " cannot be repeated [",
                       absl::StrJoin(repetition.times, ", "), "] times"));
    }
  }
  return dims;
}

// Calls f(i, x_i) with each element of the result and its place in X.
template <typename F>
void ForEachRepeated(const Repetition& repetition, F f) {
  const Dims x_strides = Strides(repetition.x_dims);
  // [times, size] for each axis: a step along `times` does not move in X.
  Dims places;
  Dims strides;
  for (size_t i = 0; i < repetition.times.size(); ++i) {
    places.insert(places.end(), {repetition.times[i], repetition.x_dims[i]});
    strides.insert(strides.end(), {0, x_strides[i]});
  }
  ForEachPlace(places, strides, f);
}

absl::Status Repeat(OpRun& op, RepetitionFunction repetition_of) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Repetition repetition, repetition_of(op));
  ASSIGN_OR_RETURN(const Dims dims, DimsOf(op, repetition));
  Array out(x.dtype, dims);
  ForEachRepeated(repetition, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status RepeatGradient(OpRun& op, RepetitionFunction repetition_of) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Repetition repetition, repetition_of(op));
  ASSIGN_OR_RETURN(const Dims dims, DimsOf(op, repetition));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(dims)));
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachRepeated(repetition, [&](int64_t i, int64_t x_i) { dx[x_i] += dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::StatusOr<Repetition> Expand(const OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<int64_t> times,
                   IntsFrom(op, "ExpandTimes", "expand_times_tensor", "expand_times"));
  if (times.size() == x.dims.size()) return Repetition{x.dims, times};
  return absl::InvalidArgumentError(absl::StrCat("expand_times has ", times.size(),
                                                 " values and X is ", DimsText(x.dims),
                                                 "; want one for each dimension"));
}

// The shorter of dims and times is filled up with 1s in front.
absl::StatusOr<Repetition> Tile(const OpRun& op) {
  Dims dims = op.Input("X").dims;
  ASSIGN_OR_RETURN(std::vector<int64_t> times,
                   IntsFrom(op, "RepeatTimes", "repeat_times_tensor", "repeat_times"));
  if (times.size() < dims.size()) times.insert(times.begin(), dims.size() - times.size(), 1);
  if (dims.size() < times.size()) dims.insert(dims.begin(), times.size() - dims.size(), 1);
  return Repetition{dims, times};
}

// X broadcast to a shape; -1 keeps X's dimension.
absl::StatusOr<Repetition> BroadcastTo(const OpRun& op, const std::vector<int64_t>& shape) {
  Dims dims = op.Input("X").dims;
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(op.Input("X").dims),
                                                   " and the shape [", absl::StrJoin(shape, ", "),
                                                   "]; want X's sizes, or any where X has 1"));
  };
  if (shape.size() < dims.size()) return refuse();
  dims.insert(dims.begin(), shape.size() - dims.size(), 1);
  std::vector<int64_t> times;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool keeps = shape[i] == -1 || shape[i] == dims[i];
    if (!keeps && dims[i] != 1) return refuse();
    times.push_back(keeps ? 1 : shape[i]);
  }
  return Repetition{dims, times};
}

absl::StatusOr<Repetition> ExpandV2(const OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                   IntsFrom(op, "Shape", "expand_shapes_tensor", "shape"));
  return BroadcastTo(op, shape);
}

// The gradient op has the attribute alone.
absl::StatusOr<Repetition> ExpandAsV2(const OpRun& op) {
  const Array* y = op.HasInputSlot("Y") ? op.FindInput("Y") : nullptr;
  if (y == nullptr) return BroadcastTo(op, op.Ints("target_shape"));
  return BroadcastTo(op, {y->dims.begin(), y->dims.end()});
}

// Version 1 repeats X until it has the target's sizes.
absl::StatusOr<Repetition> ExpandAs(const OpRun& op) {
  const Dims& x = op.Input("X").dims;
  const Dims& target = op.Input("target_tensor").dims;
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

Kernels RepetitionKernels() {
  Kernels kernels;
  const auto add = [&](const std::string& type, RepetitionFunction repetition_of) {
    kernels.push_back({type, [=](OpRun& op) { return Repeat(op, repetition_of); }});
    kernels.push_back(
        {type + "_grad", [=](OpRun& op) { return RepeatGradient(op, repetition_of); }});
  };
  add("expand", Expand);
  add("tile", Tile);
  add("expand_v2", ExpandV2);
  add("expand_as_v2", ExpandAsV2);
  add("expand_as", ExpandAs);
  return kernels;
}

}  // namespace fixpoint::reference
