// Ops that join tensors, or take parts of them.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/element_places.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// An attribute `axis` of a tensor of that rank; a tensor AxisTensor [1] takes precedence over it.
absl::StatusOr<int> AxisOf(const OpRun& op, int rank) {
  RETURN_IF_ERROR(op.CheckSize("AxisTensor", 1));
  const Array* tensor = op.FindInput("AxisTensor");
  return NormalizeAxis(tensor != nullptr ? ToInt((*tensor)[0]) : op.Int("axis"), rank);
}

// Copies `part` to, or from, the place in `whole` that begins at `offset` on an axis.
template <typename Copy>
void ForEachOfPart(const Array& part, const Array& whole, int axis, int64_t offset, Copy copy) {
  const AxisView part_view = ViewAround(part.dims, axis);
  const AxisView whole_view = ViewAround(whole.dims, axis);
  for (int64_t o = 0; o < part_view.outer; ++o) {
    for (int64_t i = 0; i < part_view.size; ++i) {
      for (int64_t k = 0; k < part_view.inner; ++k) {
        copy(part_view.At(o, i, k), whole_view.At(o, offset + i, k));
      }
    }
  }
}

// The dims of tensors joined on an axis. Error: they are not equal except on the axis.
absl::StatusOr<Dims> JoinedDims(const std::vector<const Array*>& parts, int axis) {
  Dims dims = parts[0]->dims;
  dims[axis] = 0;
  for (const Array* part : parts) {
    Dims others = part->dims;
    if (others.size() == dims.size()) others[axis] = dims[axis];
    if (others != dims) {
      return absl::InvalidArgumentError(absl::StrCat("X holds ", DimsText(parts[0]->dims), " and ",
                                                     DimsText(part->dims),
                                                     "; want them equal but for axis ", axis));
    }
    dims[axis] += part->dims[axis];
  }
  return dims;
}

absl::Status Concat(OpRun& op) {
  const std::vector<const Array*> parts = op.Inputs("X");
  if (parts.empty()) return absl::InvalidArgumentError("X has no argument; want one or more");
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, parts[0]->rank()));
  ASSIGN_OR_RETURN(const Dims dims, JoinedDims(parts, axis));
  Array out(parts[0]->dtype, dims);
  int64_t offset = 0;
  for (const Array* part : parts) {
    ForEachOfPart(*part, out, axis, offset, [&](int64_t i, int64_t at) { out[at] = (*part)[i]; });
    offset += part->dims[axis];
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ConcatGradient(OpRun& op) {
  const std::vector<const Array*> parts = op.Inputs("X");
  if (parts.empty()) return absl::InvalidArgumentError("X has no argument; want one or more");
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, parts[0]->rank()));
  ASSIGN_OR_RETURN(const Dims dims, JoinedDims(parts, axis));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  const Array& dout = op.Input("Out@GRAD");
  int64_t offset = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    Array dx(parts[p]->dtype, parts[p]->dims);
    ForEachOfPart(dx, dout, axis, offset, [&](int64_t i, int64_t at) { dx[i] = dout[at]; });
    offset += dx.dims[axis];
    op.SetOutput("X@GRAD", static_cast<int>(p), std::move(dx));
  }
  return absl::OkStatus();
}

// Sizes of the parts: `num` equal ones, or as `sections` says, of which one may be -1.
absl::StatusOr<std::vector<int64_t>> PartSizes(const OpRun& op, int64_t size) {
  const int64_t parts = op.OutputCount("Out");
  ASSIGN_OR_RETURN(std::vector<int64_t> sizes, IntsFrom(op, "", "SectionsTensorList", "sections"));
  // Equal parts take precedence over sections.
  if (const int64_t num = op.Int("num"); num > 0) {
    if (num != parts || size % num != 0) {
      return absl::InvalidArgumentError(absl::StrCat("num is ", num, " for ", parts,
                                                     " outputs of a size of ", size,
                                                     "; want as many equal parts"));
    }
    return std::vector<int64_t>(parts, size / num);
  }
  const auto rest = std::find(sizes.begin(), sizes.end(), -1);
  if (rest != sizes.end()) *rest = size - std::accumulate(sizes.begin(), sizes.end(), int64_t{1});
  const bool some_negative =
      std::any_of(sizes.begin(), sizes.end(), [](int64_t part) { return part < 0; });
  if (!some_negative && static_cast<int64_t>(sizes.size()) == parts &&
      std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == size) {
    return sizes;
  }
  return absl::InvalidArgumentError(absl::StrCat("sections is [", absl::StrJoin(sizes, ", "),
                                                 "] for ", parts, " outputs of a size of ", size,
                                                 "; want parts that add up to it"));
}

absl::Status Split(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const int axis, AxisOf(op, x.rank()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PartSizes(op, x.dims[axis]));
  int64_t offset = 0;
  for (size_t p = 0; p < sizes.size(); ++p) {
    Dims dims = x.dims;
    dims[axis] = sizes[p];
    Array out(x.dtype, dims);
    ForEachOfPart(out, x, axis, offset, [&](int64_t i, int64_t at) { out[i] = x[at]; });
    offset += sizes[p];
    op.SetOutput("Out", static_cast<int>(p), std::move(out));
  }
  return absl::OkStatus();
}

// A tensor of the first's dims along a new axis for each.
absl::Status Stacked(OpRun& op, absl::string_view input, absl::string_view output) {
  const std::vector<const Array*> parts = op.Inputs(input);
  if (parts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(input, " has no argument; want one or more"));
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), parts[0]->rank() + 1));
  Dims dims = parts[0]->dims;
  dims.insert(dims.begin() + axis, static_cast<int64_t>(parts.size()));
  Array y(parts[0]->dtype, dims);
  const AxisView view = ViewAround(dims, axis);
  for (size_t p = 0; p < parts.size(); ++p) {
    if (parts[p]->dims != parts[0]->dims) {
      return absl::InvalidArgumentError(
          absl::StrCat(input, "[", p, "] is ", DimsText(parts[p]->dims), "; want ",
                       DimsText(parts[0]->dims), ", as ", input, "[0]"));
    }
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k) {
        y[view.At(o, p, k)] = (*parts[p])[o * view.inner + k];
      }
    }
  }
  op.SetOutput(output, std::move(y));
  return absl::OkStatus();
}

// The parts of a tensor along an axis, each without it.
absl::Status Unstacked(OpRun& op, absl::string_view input, absl::string_view outputs) {
  const Array& x = op.Input(input);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  if (x.dims[axis] != op.OutputCount(outputs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(input, " ", DimsText(x.dims), " has ", x.dims[axis], " parts on axis ", axis,
                     " and there are ", op.OutputCount(outputs), " outputs"));
  }
  Dims dims = x.dims;
  dims.erase(dims.begin() + axis);
  const AxisView view = ViewAround(x.dims, axis);
  for (int64_t p = 0; p < view.size; ++p) {
    Array part(x.dtype, dims);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k) part[o * view.inner + k] = x[view.At(o, p, k)];
    }
    op.SetOutput(outputs, static_cast<int>(p), std::move(part));
  }
  return absl::OkStatus();
}

// Which part of Input a slice takes.
struct SliceRange {
  Dims starts;
  Dims dims;  // with all axes
};

absl::StatusOr<SliceRange> SliceRangeOf(const OpRun& op) {
  const Dims& dims = op.Input("Input").dims;
  const int rank = static_cast<int>(dims.size());
  const std::vector<int64_t> axes = op.Ints("axes");
  ASSIGN_OR_RETURN(const std::vector<int64_t> starts,
                   IntsFrom(op, "StartsTensor", "StartsTensorList", "starts"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ends,
                   IntsFrom(op, "EndsTensor", "EndsTensorList", "ends"));
  if (starts.size() != axes.size() || ends.size() != axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("axes has ", axes.size(), " values, starts ",
                                                   starts.size(), " and ends ", ends.size(),
                                                   "; want equal numbers"));
  }
  SliceRange range{Dims(rank, 0), dims};
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], rank));
    const int64_t size = dims[axis];
    // Negative places count from the end.
    const auto place = [size](int64_t at) {
      return std::min(std::max<int64_t>(at < 0 ? at + size : at, 0), size);
    };
    range.starts[axis] = place(starts[i]);
    range.dims[axis] = std::max<int64_t>(place(ends[i]) - range.starts[axis], 0);
  }
  return range;
}

// Calls f(i, in_i) with each element of a slice and its place in Input.
template <typename F>
void ForEachOfSlice(const SliceRange& range, DimsView input_dims, F f) {
  const Dims strides = Strides(input_dims);
  const int64_t first =
      std::inner_product(strides.begin(), strides.end(), range.starts.begin(), int64_t{0});
  ForEachPlace(range.dims, strides, [&](int64_t i, int64_t at) { f(i, first + at); });
}

absl::Status Slice(OpRun& op) {
  const Array& input = op.Input("Input");
  ASSIGN_OR_RETURN(const SliceRange range, SliceRangeOf(op));
  Array out(input.dtype, range.dims);
  ForEachOfSlice(range, input.dims, [&](int64_t i, int64_t at) { out[i] = input[at]; });
  ASSIGN_OR_RETURN(out.dims, DecreasedDims(range.dims, op.Ints("decrease_axis")));
  if (out.dims.empty() && !range.dims.empty()) out.dims = op.ScalarDims();
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SliceGradient(OpRun& op) {
  const Array& input = op.Input("Input");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const SliceRange range, SliceRangeOf(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(range.dims)));
  Array dinput(input.dtype, input.dims);
  ForEachOfSlice(range, input.dims, [&](int64_t i, int64_t at) { dinput[at] = dout[i]; });
  op.SetOutput("Input@GRAD", std::move(dinput));
  return absl::OkStatus();
}

}  // namespace

Kernels JoiningKernels() {
  return {
      {"concat", Concat},
      {"concat_grad", ConcatGradient},
      {"split", Split},
      {"stack", [](OpRun& op) { return Stacked(op, "X", "Y"); }},
      {"stack_grad", [](OpRun& op) { return Unstacked(op, "Y@GRAD", "X@GRAD"); }},
      {"unstack", [](OpRun& op) { return Unstacked(op, "X", "Y"); }},
      {"unstack_grad", [](OpRun& op) { return Stacked(op, "Y@GRAD", "X@GRAD"); }},
      {"unbind", [](OpRun& op) { return Unstacked(op, "X", "Out"); }},
      {"slice", Slice},
      {"slice_grad", SliceGradient},
  };
}

}  // namespace fixpoint::reference
