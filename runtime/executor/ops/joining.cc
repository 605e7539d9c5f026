// Ops that join tensors, or take parts of them.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/element_places.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/copy_step.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

using kernels::RowMajorLayout;
using kernels::SlicedLayout;
using kernels::StridedCopy;

// The axes of a tensor with parts, in the order in which its elements lie in memory.
struct Whole {
  Buffer buffer;
  Dims dims;
};
struct Part {
  Buffer buffer;
  Dims dims;  // of as many dimensions as the whole
  Dims starts;
};

// A part along one axis.
Part PartOn(int axis, int64_t start, Buffer buffer, Dims dims) {
  Dims starts(dims.size(), 0);
  starts[axis] = start;
  return {buffer, std::move(dims), std::move(starts)};
}

struct PlannedCopy {
  Buffer part;
  std::shared_ptr<StridedCopy> copy;
};

std::vector<Buffer> BuffersOf(const std::vector<PlannedCopy>& copies) {
  std::vector<Buffer> buffers;
  for (const PlannedCopy& copy : copies) buffers.push_back(copy.part);
  return buffers;
}

// Adds the step that puts the parts into the whole, which is 0 elsewhere.
absl::Status AddJoin(OpPlanner& op, const std::vector<Part>& parts, const Whole& whole) {
  std::vector<PlannedCopy> copies;
  int64_t covered = 0;
  for (const Part& part : parts) {
    const Dims steps(part.dims.size(), 1);
    ASSIGN_OR_RETURN(std::shared_ptr<StridedCopy> copy,
                     StridedCopy::Plan(part.dims, RowMajorLayout(part.dims),
                                       SlicedLayout(whole.dims, part.starts, steps)));
    copies.push_back({part.buffer, std::move(copy)});
    covered += part.buffer.size;
  }
  const VarType::Type dtype = op.builder().info(whole.buffer).type.dtype;
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({BuffersOf(copies),
                {whole.buffer},
                [copies, to = whole.buffer,
                 is_covered = covered == whole.buffer.size](const StepContext& run) {
                  const absl::Span<T> joined = run.Of<T>(to);
                  if (!is_covered) std::fill(joined.begin(), joined.end(), T());
                  for (const PlannedCopy& copy : copies) {
                    copy.copy->Run<T>(run.Of<T>(copy.part), joined);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// Adds the step that takes the parts from the whole.
absl::Status AddTake(OpPlanner& op, const Whole& whole, const std::vector<Part>& parts) {
  std::vector<PlannedCopy> copies;
  for (const Part& part : parts) {
    const Dims steps(part.dims.size(), 1);
    ASSIGN_OR_RETURN(std::shared_ptr<StridedCopy> copy,
                     StridedCopy::Plan(part.dims, SlicedLayout(whole.dims, part.starts, steps),
                                       RowMajorLayout(part.dims)));
    copies.push_back({part.buffer, std::move(copy)});
  }
  const VarType::Type dtype = op.builder().info(whole.buffer).type.dtype;
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep(
        {{whole.buffer}, BuffersOf(copies), [copies, from = whole.buffer](const StepContext& run) {
           for (const PlannedCopy& copy : copies) {
             copy.copy->Run<T>(run.Of<T>(from), run.Of<T>(copy.part));
           }
           return absl::OkStatus();
         }});
    return absl::OkStatus();
  });
}

// The attribute `axis` of a tensor of that rank.
absl::StatusOr<int> AxisOf(const OpPlanner& op, size_t rank) {
  RETURN_IF_ERROR(op.CheckAbsent("AxisTensor"));
  return NormalizeAxis(op.attributes().Int("axis"), static_cast<int>(rank));
}

// The dims of the tensors in X joined on an axis. Error: they are not equal except on the axis.
absl::StatusOr<Dims> JoinedDims(const OpPlanner& op, int axis) {
  Dims dims = op.InputDims("X");
  for (int i = 1; i < op.InputCount("X"); ++i) {
    Dims others = op.InputDims("X", i);
    const int64_t size = others.size() == dims.size() ? others[axis] : 0;
    if (others.size() == dims.size()) others[axis] = dims[axis];
    if (others != dims) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is ", DimsText(op.InputDims("X", i)), " and X[0] ",
                       DimsText(op.InputDims("X")), "; want them equal but for axis ", axis));
    }
    dims[axis] += size;
  }
  return dims;
}

absl::Status CheckHasTensors(const OpPlanner& op, absl::string_view slot) {
  if (op.HasInput(slot)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has no argument; want one or more"));
}

absl::Status PlanConcat(OpPlanner& op) {
  RETURN_IF_ERROR(CheckHasTensors(op, "X"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, op.InputDims("X").size()));
  const VarType::Type dtype = op.InputType("X").dtype;
  const Layout layout = op.InputLayout("X");
  const int axis_in_memory = AxisInMemory(axis, layout);
  ASSIGN_OR_RETURN(const Dims dims, JoinedDims(op, axis));
  std::vector<Part> parts;
  int64_t start = 0;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    ASSIGN_OR_RETURN(const Buffer part, op.Read("X", dtype, layout, i));
    const Dims part_dims = DimsInMemory(op.InputDims("X", i), layout);
    parts.push_back(PartOn(axis_in_memory, start, part, part_dims));
    start += part_dims[axis_in_memory];
  }
  const Buffer out = op.WriteAs("Out", {dtype, dims}, layout);
  return AddJoin(op, parts, {out, DimsInMemory(dims, layout)});
}

absl::Status PlanConcatGradient(OpPlanner& op) {
  RETURN_IF_ERROR(CheckHasTensors(op, "X"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, op.InputDims("X").size()));
  ASSIGN_OR_RETURN(const Dims dims, JoinedDims(op, axis));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  const Layout layout = op.InputLayout("Out@GRAD");
  const int axis_in_memory = AxisInMemory(axis, layout);
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD", layout));
  std::vector<Part> parts;
  int64_t start = 0;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    const TensorType type = op.InputType("X", i);
    if (op.Wants("X@GRAD", i)) {
      parts.push_back(PartOn(axis_in_memory, start, op.WriteAs("X@GRAD", type, layout, i),
                             DimsInMemory(type.dims, layout)));
    }
    start += type.dims[axis];
  }
  return AddTake(op, {dout, DimsInMemory(dims, layout)}, parts);
}

// The types of the parts are those that are inferred.
absl::Status PlanSplit(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("SectionsTensorList"));
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, type.dims.size()));
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, layout));
  std::vector<Part> parts;
  int64_t start = 0;
  for (int i = 0; i < op.OutputCount("Out"); ++i) {
    ASSIGN_OR_RETURN(const TensorType part, op.OutputType("Out", i));
    if (op.Wants("Out", i)) {
      parts.push_back(PartOn(AxisInMemory(axis, layout), start, op.WriteAs("Out", part, layout, i),
                             DimsInMemory(part.dims, layout)));
    }
    start += part.dims[axis];
  }
  if (start != type.dims[axis]) {
    return absl::InvalidArgumentError(absl::StrCat("the parts of ", DimsText(type.dims),
                                                   " add up to ", start, " on axis ", axis,
                                                   "; want ", type.dims[axis]));
  }
  RETURN_IF_ERROR(AddTake(op, {x, DimsInMemory(type.dims, layout)}, parts));
  if (axis > 0 && layout == Layout::kRowMajor) op.KeepRows("X", "Out");
  return absl::OkStatus();
}

absl::Status PlanStack(OpPlanner& op, absl::string_view input, absl::string_view output) {
  RETURN_IF_ERROR(CheckHasTensors(op, input));
  const TensorType type = op.InputType(input);
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, type.dims.size() + 1));
  Dims dims = type.dims;
  dims.insert(dims.begin() + axis, 1);
  std::vector<Part> parts;
  for (int i = 0; i < op.InputCount(input); ++i) {
    if (op.InputDims(input, i) != type.dims) {
      return absl::InvalidArgumentError(absl::StrCat(input, "[", i, "] is ",
                                                     DimsText(op.InputDims(input, i)), "; want ",
                                                     DimsText(type.dims), ", as ", input, "[0]"));
    }
    ASSIGN_OR_RETURN(const Buffer part, op.Read(input, type.dtype, Layout::kRowMajor, i));
    parts.push_back(PartOn(axis, i, part, dims));
  }
  dims[axis] = op.InputCount(input);
  const Buffer y = op.WriteAs(output, {type.dtype, dims});
  return AddJoin(op, parts, {y, dims});
}

// The parts of a tensor along an axis, each without it.
absl::Status PlanUnstack(OpPlanner& op, absl::string_view input, absl::string_view outputs) {
  const TensorType type = op.InputType(input);
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, type.dims.size()));
  if (type.dims[axis] != op.OutputCount(outputs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(input, " is ", DimsText(type.dims), " and there are ", op.OutputCount(outputs),
                     " outputs; want one for each part on axis ", axis));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.Read(input, type.dtype));
  Dims part_dims = type.dims;
  part_dims[axis] = 1;
  TensorType part_type = type;
  part_type.dims.erase(part_type.dims.begin() + axis);
  if (part_type.dims.empty()) part_type.dims = {1};
  std::vector<Part> parts;
  for (int i = 0; i < op.OutputCount(outputs); ++i) {
    if (!op.Wants(outputs, i)) continue;
    const Buffer part = op.WriteAs(outputs, part_type, Layout::kRowMajor, i);
    parts.push_back(PartOn(axis, i, part, part_dims));
  }
  return AddTake(op, {x, type.dims}, parts);
}

// Which part of Input a slice takes.
struct SliceRange {
  Dims starts;
  Dims dims;    // with all axes
  Dims of_out;  // without those that decrease_axis names
};

absl::StatusOr<SliceRange> SliceRangeOf(const OpPlanner& op) {
  for (const char* slot : {"StartsTensor", "EndsTensor", "StartsTensorList", "EndsTensorList"}) {
    RETURN_IF_ERROR(op.CheckAbsent(slot));
  }
  const Dims& dims = op.InputDims("Input");
  const std::vector<int64_t> axes = op.attributes().Ints("axes");
  const std::vector<int64_t> starts = op.attributes().Ints("starts");
  const std::vector<int64_t> ends = op.attributes().Ints("ends");
  if (starts.size() != axes.size() || ends.size() != axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("axes has ", axes.size(), " values, starts ",
                                                   starts.size(), " and ends ", ends.size(),
                                                   "; want equal numbers"));
  }
  SliceRange range{Dims(dims.size(), 0), dims, {}};
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], static_cast<int>(dims.size())));
    const int64_t size = dims[axis];
    // Negative places count from the end.
    const auto place = [size](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    range.starts[axis] = place(starts[i]);
    range.dims[axis] = place(ends[i]) - range.starts[axis];
    if (range.dims[axis] < 1) {
      return absl::InvalidArgumentError(absl::StrCat("the slice of ", DimsText(dims), " on axis ",
                                                     axis, " is empty; want elements"));
    }
  }
  ASSIGN_OR_RETURN(range.of_out, DecreasedDims(range.dims, op.attributes().Ints("decrease_axis")));
  if (range.of_out.empty()) range.of_out = {1};  // a scalar
  return range;
}

absl::Status PlanSlice(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SliceRange range, SliceRangeOf(op));
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(const Buffer input, op.Read("Input", type.dtype));
  const Buffer out = op.WriteAs("Out", {type.dtype, range.of_out});
  const bool has_all_rows =
      range.dims[0] == type.dims[0] && !range.of_out.empty() && range.of_out[0] == type.dims[0];
  if (has_all_rows) op.KeepRows("Input", "Out");
  return AddTake(op, {input, type.dims}, {{out, range.dims, range.starts}});
}

absl::Status PlanSliceGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SliceRange range, SliceRangeOf(op));
  const TensorType type = op.InputType("Input");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", TensorType{type.dtype, range.dims}.size()));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dinput = op.WriteAs("Input@GRAD", type);
  return AddJoin(op, {{dout, range.dims, range.starts}}, {dinput, type.dims});
}

}  // namespace

OpPlans JoiningPlans() {
  return {
      {"concat", PlanConcat, AlwaysRoundsOnce},
      {"concat_grad", PlanConcatGradient},
      {"split", PlanSplit, AlwaysRoundsOnce},
      {"stack", [](OpPlanner& op) { return PlanStack(op, "X", "Y"); }, AlwaysRoundsOnce},
      {"stack_grad", [](OpPlanner& op) { return PlanUnstack(op, "Y@GRAD", "X@GRAD"); }},
      {"unstack", [](OpPlanner& op) { return PlanUnstack(op, "X", "Y"); }},
      {"unstack_grad", [](OpPlanner& op) { return PlanStack(op, "Y@GRAD", "X@GRAD"); }},
      {"unbind", [](OpPlanner& op) { return PlanUnstack(op, "X", "Out"); }},
      {"slice", PlanSlice, AlwaysRoundsOnce},
      {"slice_grad", PlanSliceGradient},
  };
}

}  // namespace fixpoint::executor
