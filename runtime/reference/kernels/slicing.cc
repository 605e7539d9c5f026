// Slices with steps, and other orders of the elements along axes.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/element_places.h"
#include "ops/set_value_slice.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// Calls f(i, at) with each element of a part and its place in the whole: starts + index * steps.
template <typename F>
void ForEachOfPart(DimsView whole, const Dims& starts, const Dims& steps, const Dims& sizes, F f) {
  Dims strides = Strides(whole);
  int64_t first = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    first += starts[i] * strides[i];
    strides[i] *= steps[i];
  }
  ForEachPlace(sizes, strides, [&](int64_t i, int64_t at) { f(i, first + at); });
}

// What strided_slice takes of Input.
struct Part {
  Dims starts;
  Dims steps;
  Dims sizes;
};

absl::StatusOr<Part> StridedPart(const OpRun& op) {
  const Dims& dims = op.Input("Input").dims;
  const int rank = static_cast<int>(dims.size());
  const std::vector<int64_t> axes = op.Ints("axes");
  ASSIGN_OR_RETURN(const std::vector<int64_t> starts,
                   IntsFrom(op, "StartsTensor", "StartsTensorList", "starts"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ends,
                   IntsFrom(op, "EndsTensor", "EndsTensorList", "ends"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps,
                   IntsFrom(op, "StridesTensor", "StridesTensorList", "strides"));
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes has ", axes.size(), " values, starts ", starts.size(), ", ends ",
                     ends.size(), " and strides ", steps.size(), "; want equal numbers"));
  }
  Part part{Dims(rank, 0), Dims(rank, 1), dims};
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], rank));
    ASSIGN_OR_RETURN(const SlicedAxis sliced,
                     StridedSliceOf(dims[axis], starts[i], ends[i], steps[i]));
    part.starts[axis] = sliced.start;
    part.steps[axis] = sliced.step;
    part.sizes[axis] = sliced.size;
  }
  return part;
}

absl::Status StridedSlice(OpRun& op) {
  const Array& input = op.Input("Input");
  ASSIGN_OR_RETURN(const Part part, StridedPart(op));
  Array out(input.dtype, part.sizes);
  ForEachOfPart(input.dims, part.starts, part.steps, part.sizes,
                [&](int64_t i, int64_t at) { out[i] = input[at]; });
  ASSIGN_OR_RETURN(out.dims, DecreasedDims(part.sizes, op.Ints("decrease_axis")));
  if (out.dims.empty() && !part.sizes.empty()) out.dims = op.ScalarDims();
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status StridedSliceGradient(OpRun& op) {
  const Array& input = op.Input("Input");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const Part part, StridedPart(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(part.sizes)));
  Array dinput(input.dtype, input.dims);
  ForEachOfPart(input.dims, part.starts, part.steps, part.sizes,
                [&](int64_t i, int64_t at) { dinput[at] = dout[i]; });
  op.SetOutput("Input@GRAD", std::move(dinput));
  return absl::OkStatus();
}

// The attribute that names axes: `dims` before 2.0.
std::vector<int64_t> NamedAxes(const OpRun& op) {
  return op.Ints(op.era() == Era::kFluid ? "dims" : "axis");
}

absl::Status Flip(OpRun& op) {
  const Array& x = op.Input("X");
  Dims starts(x.dims.size(), 0);
  Dims steps(x.dims.size(), 1);
  for (const int64_t named : NamedAxes(op)) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, x.rank()));
    starts[axis] = x.dims[axis] - 1;
    steps[axis] = -1;
  }
  Array out(x.dtype, x.dims);
  ForEachOfPart(x.dims, starts, steps, x.dims, [&](int64_t i, int64_t at) { out[i] = x[at]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Element i of an axis goes to (i + shift) mod its size, in the gradient the other way round;
// without axes the tensor is one axis.
absl::Status Roll(OpRun& op, absl::string_view input, absl::string_view output, int sign) {
  const Array& x = op.Input(input);
  const bool has_tensor = op.HasInputSlot("ShiftsTensor");
  ASSIGN_OR_RETURN(const std::vector<int64_t> shifts,
                   IntsFrom(op, has_tensor ? "ShiftsTensor" : "", "", "shifts"));
  const std::vector<int64_t> named = NamedAxes(op);
  if (named.empty() ? shifts.size() != 1 : shifts.size() != named.size()) {
    return absl::InvalidArgumentError(absl::StrCat("shifts has ", shifts.size(),
                                                   " values; want one for each axis, of which "
                                                   "there are ",
                                                   named.size(), ", or one without axes"));
  }
  Array out = x;
  for (size_t i = 0; i < shifts.size(); ++i) {
    int axis = 0;
    if (!named.empty()) {
      ASSIGN_OR_RETURN(axis, NormalizeAxis(named[i], x.rank()));
    }
    const AxisView view = named.empty() ? AxisView{1, x.size(), 1} : ViewAround(x.dims, axis);
    if (view.size == 0) continue;
    const Array before = out;
    const int64_t shift = (shifts[i] % view.size * sign + view.size) % view.size;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.size; ++k) {
        for (int64_t inner = 0; inner < view.inner; ++inner) {
          out[view.At(o, (k + shift) % view.size, inner)] = before[view.At(o, k, inner)];
        }
      }
    }
  }
  op.SetOutput(output, std::move(out));
  return absl::OkStatus();
}

absl::StatusOr<SetValueLists> ListsOf(const OpRun& op) {
  SetValueLists lists;
  lists.axes = op.Ints("axes");
  lists.decrease_axes = op.Ints("decrease_axes");
  lists.none_axes = op.Ints("none_axes");
  ASSIGN_OR_RETURN(lists.starts, IntsFrom(op, "", "StartsTensorList", "starts"));
  ASSIGN_OR_RETURN(lists.ends, IntsFrom(op, "", "EndsTensorList", "ends"));
  ASSIGN_OR_RETURN(lists.steps, IntsFrom(op, "", "StepsTensorList", "steps"));
  return lists;
}

// Calls f(at, value_i) with each place of a slice and that of its value.
template <typename F>
void ForEachSet(const SetValueSlice& slice, DimsView input, F f) {
  Dims strides = Strides(input);
  int64_t first = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    first += slice.starts[i] * strides[i];
    strides[i] *= slice.steps[i];
  }
  ForEachPair({slice.sizes, strides, slice.value_strides},
              [&](int64_t, int64_t at, int64_t value) { f(first + at, value); });
}

absl::StatusOr<Array> ValueOf(const OpRun& op, VarType::Type dtype) {
  if (const Array* tensor = op.FindInput("ValueTensor"); tensor != nullptr) return *tensor;
  ASSIGN_OR_RETURN(std::vector<double> numbers, SetValueNumbers(op.op().desc()));
  Dims dims;
  for (const int64_t size : op.Ints("shape")) dims.push_back(size);
  RETURN_IF_ERROR(CheckSizes(dims));
  if (Volume(dims) != static_cast<int64_t>(numbers.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape is ", DimsText(dims), " and there are ", numbers.size(), " values"));
  }
  Array value(dtype, dims);
  value.values = std::move(numbers);
  return value;
}

absl::Status SetValue(OpRun& op) {
  Array out = op.Input("Input");
  ASSIGN_OR_RETURN(const Array value, ValueOf(op, out.dtype));
  ASSIGN_OR_RETURN(const SetValueLists lists, ListsOf(op));
  ASSIGN_OR_RETURN(const SetValueSlice slice, SetValueSliceOf(out.dims, value.dims, lists));
  ForEachSet(slice, out.dims, [&](int64_t at, int64_t value_i) { out[at] = value[value_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SetValueGradient(OpRun& op) {
  Array dinput = op.Input("Out@GRAD");
  const Array* value = op.FindInput("ValueTensor");
  ASSIGN_OR_RETURN(const SetValueLists lists, ListsOf(op));
  ASSIGN_OR_RETURN(const SetValueSlice slice,
                   SetValueSliceOf(dinput.dims, value != nullptr ? value->dims : Dims(), lists));
  if (value != nullptr) {
    Array dvalue(value->dtype, value->dims);
    ForEachSet(slice, dinput.dims,
               [&](int64_t at, int64_t value_i) { dvalue[value_i] += dinput[at]; });
    op.SetOutput("ValueTensor@GRAD", std::move(dvalue));
  }
  ForEachSet(slice, dinput.dims, [&](int64_t at, int64_t) { dinput[at] = 0; });
  op.SetOutput("Input@GRAD", std::move(dinput));
  return absl::OkStatus();
}

}  // namespace

Kernels SlicingKernels() {
  return {{"strided_slice", StridedSlice},
          {"strided_slice_grad", StridedSliceGradient},
          {"flip", Flip},
          {"roll", [](OpRun& op) { return Roll(op, "X", "Out", 1); }},
          {"roll_grad", [](OpRun& op) { return Roll(op, "Out@GRAD", "X@GRAD", -1); }},
          {"set_value", SetValue},
          {"set_value_grad", SetValueGradient}};
}

}  // namespace fixpoint::reference
