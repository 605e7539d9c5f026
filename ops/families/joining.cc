// Ops that join tensors, take parts of them, or repeat them.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferConcat(InferContext& op) {
  const int count = op.InputCount("X");
  const TensorInfo first = op.Input("X");
  op.SetOutput("Out", first.dtype, std::nullopt);
  if (op.HasInput("AxisTensor") || !first.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), first.rank()));
  Dims out(first.dims.begin(), first.dims.end());
  for (int i = 1; i < count; ++i) {
    const TensorInfo x = op.Input("X", i);
    if (!x.has_dims()) return absl::OkStatus();
    if (x.rank() != first.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("X[", i, "] is ", DimsText(x.dims), "; want ",
                                                     first.rank(), " dimensions, as X[0] has"));
    }
    for (int d = 0; d < x.rank(); ++d) {
      if (d == axis) continue;
      if (!MayBeEqual(out[d], x.dims[d])) {
        return absl::InvalidArgumentError(absl::StrCat("X[", i, "] is ", DimsText(x.dims),
                                                       " and X[0] is ", DimsText(first.dims),
                                                       "; want them equal but for axis ", axis));
      }
      out[d] = std::max(out[d], x.dims[d]);
    }
    if (out[axis] < 0 || x.dims[axis] < 0) {
      out[axis] = kUnknownDim;
    } else if (__builtin_add_overflow(out[axis], x.dims[axis], &out[axis])) {
      return absl::InvalidArgumentError("the joined size is more than an int64 holds");
    }
  }
  op.SetOutput("Out", first.dtype, out);
  return absl::OkStatus();
}

// Sizes of the parts from `num` equal ones, or from `sections`, of which one may be -1.
absl::StatusOr<std::vector<int64_t>> SplitSizes(int64_t size, int64_t num,
                                                std::vector<int64_t> sections, int parts) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "num is ", num, " and sections is [", absl::StrJoin(sections, ", "), "], for ", parts,
        " outputs of an axis of ", size, "; want as many equal parts, or sections that add up"));
  };
  if (num > 0) {
    if (num != parts || (size > 0 && size % num != 0)) return refuse();
    return std::vector<int64_t>(parts, size < 0 ? kUnknownDim : size / num);
  }
  if (sections.size() != static_cast<size_t>(parts)) return refuse();
  int64_t sum = 0;
  int64_t* inferred = nullptr;
  for (int64_t& section : sections) {
    if (section == -1 && inferred == nullptr) {
      inferred = &section;
    } else if (section < 0 || __builtin_add_overflow(sum, section, &sum)) {
      return refuse();
    }
  }
  if (size >= 0) {
    if (inferred == nullptr ? sum != size : sum > size) return refuse();
    if (inferred != nullptr) *inferred = size - sum;
  }
  return sections;
}

absl::Status InferSplit(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const int parts = op.OutputCount("Out");
  for (int i = 0; i < parts; ++i) op.SetOutput("Out", i, x.dtype, std::nullopt);
  if (!x.has_dims() || op.HasInput("AxisTensor") || op.HasInput("SectionsTensorList")) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                   SplitSizes(x.dims[axis], op.Int("num"), op.Ints("sections"), parts));
  Dims out(x.dims.begin(), x.dims.end());
  for (int i = 0; i < parts; ++i) {
    out[axis] = sizes[i];
    op.SetOutput("Out", i, x.dtype, out);
  }
  return absl::OkStatus();
}

// How many elements `start`..`end` takes of `size`; negative ones count from the end.
int64_t SliceSize(int64_t size, int64_t start, int64_t end) {
  if (size < 0) return kUnknownDim;
  const auto clamp = [size](int64_t i) {
    return std::min(std::max<int64_t>(i < 0 ? i + size : i, 0), size);
  };
  return std::max<int64_t>(clamp(end) - clamp(start), 0);
}

absl::Status InferSlice(InferContext& op) {
  const TensorInfo x = op.Input("Input");
  op.SetOutput("Out", x.dtype, std::nullopt);
  // Slicing an array of tensors is a different operation.
  if (!x.has_dims() || x.kind == VarType::LOD_TENSOR_ARRAY) return absl::OkStatus();
  for (const char* slot : {"StartsTensor", "EndsTensor", "StartsTensorList", "EndsTensorList"}) {
    if (op.HasInput(slot)) return absl::OkStatus();
  }
  const std::vector<int64_t> axes = op.Ints("axes");
  const std::vector<int64_t> starts = op.Ints("starts");
  const std::vector<int64_t> ends = op.Ints("ends");
  const std::vector<int64_t> infer_flags = op.Ints("infer_flags");
  if (starts.size() != axes.size() || ends.size() != axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("axes has ", axes.size(), " values, starts ",
                                                   starts.size(), " and ends ", ends.size(),
                                                   "; want equal numbers"));
  }
  Dims sliced(x.dims.begin(), x.dims.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], x.rank()));
    const bool known = i >= infer_flags.size() || infer_flags[i] != -1;
    sliced[axis] = known ? SliceSize(x.dims[axis], starts[i], ends[i]) : kUnknownDim;
  }
  std::vector<bool> dropped(x.rank(), false);
  for (int64_t axis : op.Ints("decrease_axis")) {
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
    dropped[i] = true;
  }
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!dropped[i]) out.push_back(sliced[i]);
  }
  // No axis left: [1], since 2.5 a scalar.
  if (out.empty()) out.push_back(1);
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferStack(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Y", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank() + 1));
  Dims out(x.dims.begin(), x.dims.end());
  out.insert(out.begin() + axis, op.InputCount("X"));
  op.SetOutput("Y", x.dtype, out);
  return absl::OkStatus();
}

// Several outputs, each X without an axis.
OpSchema::InferFunction InferUnstack(const char* outputs) {
  return [outputs](InferContext& op) -> absl::Status {
    const TensorInfo x = op.Input("X");
    if (!x.has_dims()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
    const int count = op.OutputCount(outputs);
    if (!MayBeEqual(x.dims[axis], count)) {
      return absl::InvalidArgumentError(absl::StrCat("X ", DimsText(x.dims), " has ", x.dims[axis],
                                                     " parts on axis ", axis, " and there are ",
                                                     count, " outputs"));
    }
    Dims out(x.dims.begin(), x.dims.end());
    out.erase(out.begin() + axis);
    if (out.empty()) return absl::OkStatus();
    for (int i = 0; i < count; ++i) op.SetOutput(outputs, i, x.dtype, out);
    return absl::OkStatus();
  };
}

// The gradients of the parts, stacked.
absl::Status InferUnstackGradient(InferContext& op) {
  const TensorInfo part = op.Input("Y@GRAD");
  op.SetOutput("X@GRAD", part.dtype, std::nullopt);
  if (!part.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), part.rank() + 1));
  Dims dims(part.dims.begin(), part.dims.end());
  dims.insert(dims.begin() + axis, op.InputCount("Y@GRAD"));
  op.SetOutput("X@GRAD", part.dtype, dims);
  return absl::OkStatus();
}

absl::Status InferExpandAs(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo target = op.Input("target_tensor");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !target.has_dims()) return absl::OkStatus();
  bool fits = x.rank() == target.rank();
  for (int i = 0; fits && i < x.rank(); ++i) {
    fits = x.dims[i] <= 0 || target.dims[i] < 0 || target.dims[i] % x.dims[i] == 0;
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims),
                                                   " and target_tensor is ", DimsText(target.dims),
                                                   "; want multiples of X's sizes"));
  }
  op.SetOutput("Out", x.dtype, Dims(target.dims.begin(), target.dims.end()));
  return absl::OkStatus();
}

// Repeats each axis as often as the attribute says.
absl::Status InferExpand(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || op.HasInput("ExpandTimes") || op.HasInput("expand_times_tensor")) {
    return absl::OkStatus();
  }
  const std::vector<int64_t> times = op.Ints("expand_times");
  if (times.size() != x.dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("expand_times has ", times.size(),
                                                   " values and X is ", DimsText(x.dims),
                                                   "; want one for each dimension"));
  }
  Dims out(x.dims.begin(), x.dims.end());
  for (size_t i = 0; i < times.size(); ++i) {
    if (out[i] < 0 || times[i] < 0) {
      out[i] = kUnknownDim;
    } else if (__builtin_mul_overflow(out[i], times[i], &out[i])) {
      return absl::InvalidArgumentError("the repeated size is more than an int64 holds");
    }
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferExpandV2(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || op.HasInput("Shape") || op.HasInput("expand_shapes_tensor")) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Dims out, ShapeAttr(op, "shape"));
  if (out.size() < x.dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("shape has ", out.size(), " values and X is ",
                                                   DimsText(x.dims), "; want at least ", x.rank()));
  }
  const size_t added = out.size() - x.dims.size();
  for (size_t i = 0; i < x.dims.size(); ++i) {
    // -1 keeps X's dimension.
    if (out[added + i] < 0) out[added + i] = x.dims[i];
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

void DefineParts(OpList& ops) {
  ops.Define("concat(X*, AxisTensor?) -> (Out)")
      .Doc("Tensors one after another along axis.")
      .Attr("axis", Int(0))
      .Hints("use_mkldnn, use_quantizer, mkldnn_data_type@2")
      .Infer(InferConcat)
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .KeepsSign()
      .JoinsValues({"X"})
      .Gradient("concat_grad(X, AxisTensor, Out@GRAD) -> (X@GRAD)");
  ops.Define("split(X, AxisTensor?, SectionsTensorList*?) -> (Out*)")
      .Doc("Parts of X along axis: num equal ones, or as long as `sections` says.")
      .Attr("sections", Ints({}))
      .Attr("num", Int(0))
      .Attr("axis", Int(0))
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferSplit)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("concat(X=Out@GRAD, AxisTensor) -> (Out=X@GRAD)");
  ops.Define(
         "slice(Input, StartsTensor?, EndsTensor?, StartsTensorList*?, EndsTensorList*?) -> (Out)")
      .Doc(
          "Input from starts to ends along axes, then without the dimensions decrease_axis. "
          "infer_flags -1: the size is not known.")
      .Attr("axes", Required(INTS))
      .Attr("starts", Ints({}))
      .Attr("ends", Ints({}))
      .Attr("infer_flags", Ints({}))
      .Attr("decrease_axis", Ints({}))
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferSlice)
      .QuantizableInput("Input", SlotRole::ACTIVATION)
      .Moves("Input")
      .QuantizableOutputs({"Out"})
      .Gradient(
          "slice_grad(Input, StartsTensor, EndsTensor, StartsTensorList, EndsTensorList, "
          "Out@GRAD) -> (Input@GRAD)");
  ops.Define("stack(X*) -> (Y)")
      .Doc("Tensors of one shape along a new axis.")
      .Attr("axis", Int(0))
      .Hints("use_mkldnn@2")
      .Infer(InferStack)
      .TakeLod({})
      .QuantizableOutputs({"Y"})
      .JoinsValues({"X"})
      .Gradient("stack_grad(Y@GRAD, X@2) -> (X@GRAD)");
  ops.Define("unstack(X) -> (Y*)")
      .Doc("The inverse of stack.")
      .Attr("axis", Int(0))
      .Attr("num", Required(INT), Eras::kFluid)
      .Attr("num", Int(0), Eras::kPaddle2)
      .Infer(InferUnstack("Y"))
      .TakeLod({})
      .KeepsRange()
      .Gradient("unstack_grad(Y@GRAD) -> (X@GRAD)")
      .GradientInfer(InferUnstackGradient);
  ops.Define("unbind(X) -> (Out*)")
      .Doc("unstack by another name.")
      .Attr("axis", Int(0))
      .Infer(InferUnstack("Out"))
      .TakeLod({})
      .KeepsRange()
      .Gradient("stack(X=Out@GRAD) -> (Y=X@GRAD)");
}

void DefineRepeats(OpList& ops) {
  ops.Define("expand(X, ExpandTimes?, expand_times_tensor*?) -> (Out)")
      .Doc("X repeated along each axis.")
      .Attr("expand_times", Ints({}))
      .Infer(InferExpand)
      .KeepsRange()
      .Gradient("expand_grad(X, ExpandTimes, expand_times_tensor, Out@GRAD) -> (X@GRAD)");
  ops.Define("expand_v2(X, Shape?, expand_shapes_tensor*?) -> (Out)")
      .Doc("X broadcast to `shape`; -1 keeps X's dimension.")
      .Attr("shape", Ints({}))
      .Hints("use_mkldnn, mkldnn_data_type")
      .Infer(InferExpandV2)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("expand_v2_grad(X, Shape, expand_shapes_tensor, Out@GRAD) -> (X@GRAD)");
  ops.Define("expand_as(X, target_tensor) -> (Out)")
      .Doc("X repeated along each axis until it has the sizes of target_tensor.")
      .Infer(InferExpandAs)
      .KeepsRange()
      .Gradient("expand_as_grad(X, target_tensor, Out@GRAD) -> (X@GRAD)");
  ops.Define("expand_as_v2(X, Y?) -> (Out)")
      .Doc("X broadcast to Y's shape, or to target_shape.")
      .Attr("target_shape", Ints({}))
      .KeepsRange()
      .Gradient("expand_as_v2_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("tile(X, RepeatTimes?, repeat_times_tensor*?) -> (Out)")
      .Doc("X repeated along each axis, as numpy.tile does.")
      .Attr("repeat_times", Ints({}))
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("tile_grad(X, RepeatTimes, repeat_times_tensor, Out@GRAD) -> (X@GRAD)");
}

}  // namespace

std::vector<OpSchema> JoiningOps() {
  OpList ops;
  DefineParts(ops);
  DefineRepeats(ops);
  return ops.Build();
}

}  // namespace fixpoint
