// Slices with steps, and other orders of the elements along axes.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/element_places.h"
#include "ops/set_value_slice.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/copy_step.h"
#include "runtime/executor/ops/number_as_element.h"
#include "runtime/executor/ops/placed_elements.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

using kernels::Places;
using kernels::StridedCopy;

// What strided_slice takes of Input.
struct Part {
  Dims starts;
  Dims steps;
  Dims sizes;   // with all axes
  Dims of_out;  // without those that decrease_axis names
};

absl::StatusOr<Part> StridedPart(const OpPlanner& op) {
  for (const char* slot : {"StartsTensor", "EndsTensor", "StridesTensor", "StartsTensorList",
                           "EndsTensorList", "StridesTensorList"}) {
    RETURN_IF_ERROR(op.CheckAbsent(slot));
  }
  const Dims& dims = op.InputDims("Input");
  const int rank = static_cast<int>(dims.size());
  const std::vector<int64_t> axes = op.attributes().Ints("axes");
  const std::vector<int64_t> starts = op.attributes().Ints("starts");
  const std::vector<int64_t> ends = op.attributes().Ints("ends");
  const std::vector<int64_t> steps = op.attributes().Ints("strides");
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes has ", axes.size(), " values, starts ", starts.size(), ", ends ",
                     ends.size(), " and strides ", steps.size(), "; want equal numbers"));
  }
  Part part{Dims(rank, 0), Dims(rank, 1), dims, {}};
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], rank));
    ASSIGN_OR_RETURN(const SlicedAxis sliced,
                     StridedSliceOf(dims[axis], starts[i], ends[i], steps[i]));
    part.starts[axis] = sliced.start;
    // The step of a single element is never taken, and may be beyond any tensor.
    part.steps[axis] = sliced.size > 1 ? sliced.step : 1;
    part.sizes[axis] = sliced.size;
  }
  ASSIGN_OR_RETURN(part.of_out, DecreasedDims(part.sizes, op.attributes().Ints("decrease_axis")));
  if (part.of_out.empty()) part.of_out = {1};  // a scalar
  return part;
}

absl::Status PlanStridedSlice(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Part part, StridedPart(op));
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(
      const std::shared_ptr<StridedCopy> copy,
      StridedCopy::Plan(part.sizes, kernels::SlicedLayout(type.dims, part.starts, part.steps),
                        kernels::RowMajorLayout(part.sizes)));
  ASSIGN_OR_RETURN(const Buffer input, op.Read("Input", type.dtype));
  const Buffer out = op.WriteAs("Out", {type.dtype, part.of_out});
  return AddCopy(op, type.dtype, copy, input, out);
}

absl::Status PlanStridedSliceGradient(OpPlanner& op) {
  if (!op.Wants("Input@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Part part, StridedPart(op));
  const TensorType type = op.InputType("Input");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", TensorType{type.dtype, part.sizes}.size()));
  ASSIGN_OR_RETURN(const std::shared_ptr<StridedCopy> copy,
                   StridedCopy::Plan(part.sizes, kernels::RowMajorLayout(part.sizes),
                                     kernels::SlicedLayout(type.dims, part.starts, part.steps)));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dinput = op.WriteAs("Input@GRAD", type);
  op.AddStep({{dout}, {dinput}, [=](const StepContext& run) {
                const absl::Span<float> whole = run.Floats(dinput);
                std::fill(whole.begin(), whole.end(), 0.0f);
                copy->Run<float>(run.Floats(dout), whole);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The attribute that names axes: `dims` before 2.0.
std::vector<int64_t> NamedAxes(const OpPlanner& op) {
  return op.attributes().Ints(op.era() == Era::kFluid ? "dims" : "axis");
}

absl::Status PlanFlip(OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  std::vector<Places> places(dims.size());
  for (const int64_t named : NamedAxes(op)) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, static_cast<int>(dims.size())));
    RETURN_IF_ERROR(CheckPlanned(dims[axis]));
    places[axis].clear();
    for (int64_t k = dims[axis]; k > 0; --k) places[axis].push_back(static_cast<int32_t>(k - 1));
  }
  return AddPlacedCopy(op, "X", "Out", places);
}

// Element i of an axis goes to (i + shift) mod its size, in the gradient the other way round;
// without axes the tensor is one axis.
absl::Status PlanRoll(OpPlanner& op, absl::string_view input, absl::string_view output, int sign) {
  RETURN_IF_ERROR(op.CheckAbsent("ShiftsTensor"));
  const TensorType type = op.InputType(input);
  const std::vector<int64_t> shifts = op.attributes().Ints("shifts");
  const std::vector<int64_t> named = NamedAxes(op);
  if (named.empty() ? shifts.size() != 1 : shifts.size() != named.size()) {
    return absl::InvalidArgumentError(absl::StrCat("shifts has ", shifts.size(),
                                                   " values; want one for each axis, of which "
                                                   "there are ",
                                                   named.size(), ", or one without axes"));
  }
  const auto rolled_by = [sign](int64_t shift, int64_t size) {
    return size == 0 ? 0 : (shift % size * sign + size) % size;
  };
  if (named.empty()) {
    ASSIGN_OR_RETURN(const Buffer from, op.Read(input, type.dtype));
    const Buffer to = op.WriteAs(output, type);
    return WithElementOfSizeOf(type.dtype, [&](auto element) {
      using T = decltype(element);
      op.AddStep({{from},
                  {to},
                  [from, to, shift = rolled_by(shifts[0], from.size)](const StepContext& run) {
                    const absl::Span<T> x = run.Of<T>(from);
                    std::rotate_copy(x.begin(), x.end() - shift, x.end(), run.Of<T>(to).begin());
                    return absl::OkStatus();
                  }});
      return absl::OkStatus();
    });
  }
  std::vector<int64_t> by_axis(type.dims.size(), 0);
  for (size_t i = 0; i < named.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named[i], static_cast<int>(by_axis.size())));
    const int64_t size = type.dims[axis];
    by_axis[axis] = (by_axis[axis] + rolled_by(shifts[i], size)) % std::max<int64_t>(size, 1);
  }
  std::vector<Places> places(type.dims.size());
  for (size_t axis = 0; axis < places.size(); ++axis) {
    if (by_axis[axis] == 0) continue;
    const int64_t size = type.dims[axis];
    RETURN_IF_ERROR(CheckPlanned(size));
    for (int64_t k = 0; k < size; ++k) {
      places[axis].push_back(static_cast<int32_t>((k - by_axis[axis] + size) % size));
    }
  }
  return AddPlacedCopy(op, input, output, places);
}

// The lists of set_value, of which those that come from tensors are read in each run.
class SetValueInputs {
 public:
  static absl::StatusOr<SetValueInputs> Of(OpPlanner& op) {
    SetValueInputs inputs;
    const OpAttributes& attributes = op.attributes();
    inputs.lists_.axes = attributes.Ints("axes");
    inputs.lists_.decrease_axes = attributes.Ints("decrease_axes");
    inputs.lists_.none_axes = attributes.Ints("none_axes");
    ASSIGN_OR_RETURN(inputs.starts_,
                     ReadList(op, "StartsTensorList", "starts", &inputs.lists_.starts));
    ASSIGN_OR_RETURN(inputs.ends_, ReadList(op, "EndsTensorList", "ends", &inputs.lists_.ends));
    ASSIGN_OR_RETURN(inputs.steps_, ReadList(op, "StepsTensorList", "steps", &inputs.lists_.steps));
    return inputs;
  }

  // Appends what a step reads.
  void AppendBuffers(std::vector<Buffer>* buffers) const {
    for (const auto* list : {&starts_, &ends_, &steps_}) {
      for (const Number& number : *list) buffers->push_back(number.buffer);
    }
  }

  SetValueLists In(const StepContext& run) const {
    SetValueLists lists = lists_;
    for (const Number& number : starts_) lists.starts.push_back(number.In(run));
    for (const Number& number : ends_) lists.ends.push_back(number.In(run));
    for (const Number& number : steps_) lists.steps.push_back(number.In(run));
    return lists;
  }

 private:
  struct Number {
    Buffer buffer;
    bool is_long;

    int64_t In(const StepContext& run) const {
      return is_long ? run.Of<int64_t>(buffer)[0] : run.Of<int32_t>(buffer)[0];
    }
  };

  // The tensors of a list, or else `known`.
  static absl::StatusOr<std::vector<Number>> ReadList(OpPlanner& op, absl::string_view slot,
                                                      absl::string_view attribute,
                                                      std::vector<int64_t>* known) {
    std::vector<Number> numbers;
    if (op.CheckAbsent(slot).ok()) {
      *known = op.attributes().Ints(attribute);
      return numbers;
    }
    for (int i = 0; i < op.InputCount(slot); ++i) {
      const TensorType type = op.InputType(slot, i);
      const bool is_long = type.dtype == VarType::INT64;
      if ((!is_long && type.dtype != VarType::INT32) || type.size() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(slot, " holds a tensor ", TypeName(type.dtype), " ", DimsText(type.dims),
                         "; want one i32 or i64 in each"));
      }
      ASSIGN_OR_RETURN(const Buffer buffer, op.Read(slot, type.dtype, Layout::kRowMajor, i));
      numbers.push_back({buffer, is_long});
    }
    return numbers;
  }

  SetValueLists lists_;
  std::vector<Number> starts_;
  std::vector<Number> ends_;
  std::vector<Number> steps_;
};

// Calls f(at, value_i) with each place of a slice of a tensor and that of its value.
template <typename F>
void ForEachSet(const SetValueSlice& slice, const Dims& input, F f) {
  const Dims strides = kernels::RowMajorLayout(input).strides;
  const int rank = static_cast<int>(input.size());
  if (std::any_of(slice.sizes.begin(), slice.sizes.end(), [](int64_t size) { return size == 0; })) {
    return;
  }
  int64_t at = 0;
  int64_t value = 0;
  for (int i = 0; i < rank; ++i) at += slice.starts[i] * strides[i];
  Dims index(rank, 0);
  for (bool has_more = true; has_more;) {
    f(at, value);
    has_more = false;
    for (int i = rank - 1; i >= 0; --i) {
      if (++index[i] < slice.sizes[i]) {
        at += slice.steps[i] * strides[i];
        value += slice.value_strides[i];
        has_more = true;
        break;
      }
      index[i] = 0;
      at -= (slice.sizes[i] - 1) * slice.steps[i] * strides[i];
      value -= (slice.sizes[i] - 1) * slice.value_strides[i];
    }
  }
}

// What is set: a tensor, or numbers of attributes.
struct SetNumbers {
  std::optional<Buffer> tensor;
  std::vector<double> numbers;
  Dims dims;
};

absl::StatusOr<SetNumbers> NumbersOf(OpPlanner& op, VarType::Type dtype) {
  SetNumbers value;
  if (op.HasInput("ValueTensor")) {
    const TensorType type = op.InputType("ValueTensor");
    if (type.dtype != dtype) {
      return absl::UnimplementedError(absl::StrCat("ValueTensor is ", TypeName(type.dtype),
                                                   " and Input ", TypeName(dtype),
                                                   "; want equal types"));
    }
    ASSIGN_OR_RETURN(value.tensor, op.Read("ValueTensor", dtype));
    value.dims = type.dims;
    return value;
  }
  ASSIGN_OR_RETURN(value.numbers, SetValueNumbers(op.op().desc()));
  for (const int64_t size : op.attributes().Ints("shape")) value.dims.push_back(size);
  ASSIGN_OR_RETURN(const int64_t size, ElementCount(value.dims));
  if (size == static_cast<int64_t>(value.numbers.size())) return value;
  return absl::InvalidArgumentError(absl::StrCat(
      "shape is ", DimsText(value.dims), " and there are ", value.numbers.size(), " values"));
}

absl::Status PlanSetValue(OpPlanner& op) {
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(const SetValueInputs inputs, SetValueInputs::Of(op));
  ASSIGN_OR_RETURN(const SetNumbers value, NumbersOf(op, type.dtype));
  ASSIGN_OR_RETURN(const Buffer input, op.Read("Input", type.dtype));
  // A value that is the input itself has to stay as it is.
  const bool may_overwrite = !value.tensor || *value.tensor != input;
  const Buffer out =
      may_overwrite ? op.WriteOver("Out", type, Layout::kRowMajor, input) : op.WriteAs("Out", type);
  std::vector<Buffer> reads = {input};
  if (value.tensor) reads.push_back(*value.tensor);
  inputs.AppendBuffers(&reads);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<uint8_t> numbers(value.numbers.size() * sizeof(T));
    for (size_t i = 0; i < value.numbers.size(); ++i) {
      reinterpret_cast<T*>(numbers.data())[i] = ElementOf<T>(value.numbers[i]);
    }
    op.AddStep({std::move(reads), {out}, [=](const StepContext& run) -> absl::Status {
                  ASSIGN_OR_RETURN(const SetValueSlice slice,
                                   SetValueSliceOf(type.dims, value.dims, inputs.In(run)));
                  const absl::Span<T> before = run.Of<T>(input);
                  T* const to = run.Of<T>(out).data();
                  if (to != before.data()) std::copy(before.begin(), before.end(), to);
                  const T* const from = value.tensor ? run.Of<T>(*value.tensor).data()
                                                     : reinterpret_cast<const T*>(numbers.data());
                  ForEachSet(slice, type.dims,
                             [=](int64_t at, int64_t value_i) { to[at] = from[value_i]; });
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanSetValueGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Out@GRAD");
  ASSIGN_OR_RETURN(const SetValueInputs inputs, SetValueInputs::Of(op));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const bool has_value = op.HasInput("ValueTensor");
  const Dims value_dims = has_value ? op.InputDims("ValueTensor") : Dims();
  std::vector<Buffer> reads = {dout};
  inputs.AppendBuffers(&reads);
  if (op.Wants("Input@GRAD")) {
    const Buffer dinput = op.WriteAs("Input@GRAD", type);
    op.AddStep({reads, {dinput}, [=](const StepContext& run) -> absl::Status {
                  ASSIGN_OR_RETURN(const SetValueSlice slice,
                                   SetValueSliceOf(type.dims, value_dims, inputs.In(run)));
                  const absl::Span<float> from = run.Floats(dout);
                  float* const to = run.Floats(dinput).data();
                  std::copy(from.begin(), from.end(), to);
                  ForEachSet(slice, type.dims, [=](int64_t at, int64_t) { to[at] = 0; });
                  return absl::OkStatus();
                }});
  }
  if (!has_value || !op.Wants("ValueTensor@GRAD")) return absl::OkStatus();
  const Buffer dvalue = op.WriteAs("ValueTensor@GRAD", op.InputType("ValueTensor"));
  const Buffer sums = op.Scratch("sums", VarType::FP64, dvalue.size);
  op.AddStep({std::move(reads), {dvalue, sums}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const SetValueSlice slice,
                                 SetValueSliceOf(type.dims, value_dims, inputs.In(run)));
                const float* const from = run.Floats(dout).data();
                const absl::Span<double> sum = run.Of<double>(sums);
                std::fill(sum.begin(), sum.end(), 0);
                ForEachSet(slice, type.dims, [=, to = sum.data()](int64_t at, int64_t value_i) {
                  to[value_i] += static_cast<double>(from[at]);
                });
                const absl::Span<float> to = run.Floats(dvalue);
                for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(sum[i]);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SlicingPlans() {
  return {{"strided_slice", PlanStridedSlice, AlwaysRoundsOnce},
          {"strided_slice_grad", PlanStridedSliceGradient},
          {"flip", PlanFlip, AlwaysRoundsOnce},
          {"roll", [](OpPlanner& op) { return PlanRoll(op, "X", "Out", 1); }, AlwaysRoundsOnce},
          {"roll_grad", [](OpPlanner& op) { return PlanRoll(op, "Out@GRAD", "X@GRAD", -1); }},
          {"set_value", PlanSetValue, AlwaysRoundsOnce},
          {"set_value_grad", PlanSetValueGradient}};
}

}  // namespace fixpoint::executor
