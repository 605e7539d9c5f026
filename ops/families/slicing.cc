// Slices with steps, and other orders of the elements along axes.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/element_places.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferStridedSlice(InferContext& op) {
  const TensorInfo x = op.Input("Input");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || x.kind == VarType::LOD_TENSOR_ARRAY) return absl::OkStatus();
  for (const char* slot : {"StartsTensor", "EndsTensor", "StridesTensor", "StartsTensorList",
                           "EndsTensorList", "StridesTensorList"}) {
    if (op.HasInput(slot)) return absl::OkStatus();
  }
  const std::vector<int64_t> axes = op.Ints("axes");
  const std::vector<int64_t> starts = op.Ints("starts");
  const std::vector<int64_t> ends = op.Ints("ends");
  const std::vector<int64_t> steps = op.Ints("strides");
  const std::vector<int64_t> infer_flags = op.Ints("infer_flags");
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes has ", axes.size(), " values, starts ", starts.size(), ", ends ",
                     ends.size(), " and strides ", steps.size(), "; want equal numbers"));
  }
  Dims sliced(x.dims.begin(), x.dims.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], x.rank()));
    const bool is_known = i >= infer_flags.size() || infer_flags[i] != -1;
    sliced[axis] = kUnknownDim;
    if (!is_known || x.dims[axis] < 0) continue;
    ASSIGN_OR_RETURN(const SlicedAxis slice,
                     StridedSliceOf(x.dims[axis], starts[i], ends[i], steps[i]));
    sliced[axis] = slice.size;
  }
  ASSIGN_OR_RETURN(const Dims out, DecreasedDims(sliced, op.Ints("decrease_axis")));
  if (!out.empty()) op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

// Out is like X; each of the axes in an attribute is one of X's.
OpSchema::InferFunction LikeXWithAxes(const char* of_fluid, const char* of_paddle2) {
  return [=](InferContext& op) -> absl::Status {
    const TensorInfo x = op.Input("X");
    op.SetOutputLike("Out", x);
    if (!x.has_dims()) return absl::OkStatus();
    for (const int64_t axis : op.Ints(op.era() == Era::kFluid ? of_fluid : of_paddle2)) {
      RETURN_IF_ERROR(NormalizeAxis(axis, x.rank()).status());
    }
    return absl::OkStatus();
  };
}

absl::Status InferSetValueGradient(InferContext& op) {
  op.SetOutputLike("Input@GRAD", op.Input("Out@GRAD"));
  op.SetOutputLike("ValueTensor@GRAD", op.Input("ValueTensor"));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> SlicingOps() {
  OpList ops;
  ops.Define(
         "strided_slice(Input, StartsTensor?, EndsTensor?, StridesTensor?, StartsTensorList*?, "
         "EndsTensorList*?, StridesTensorList*?) -> (Out)")
      .Doc(
          "Input from starts to ends along axes in steps of strides, then without the dimensions "
          "decrease_axis. An end of -1 with a negative step takes the first element too.")
      .Attr("axes", Required(INTS))
      .Attr("starts", Ints({}))
      .Attr("ends", Ints({}))
      .Attr("strides", Ints({}))
      .Attr("infer_flags", Ints({}))
      .Attr("decrease_axis", Ints({}))
      .Infer(InferStridedSlice)
      .Moves("Input")
      .TakeLod({})
      .QuantizableOutputs({"Out"})
      .Gradient(
          "strided_slice_grad(Input, StartsTensor, EndsTensor, StridesTensor, StartsTensorList, "
          "EndsTensorList, StridesTensorList, Out@GRAD) -> (Input@GRAD)");
  ops.Define("flip(X) -> (Out)")
      .Doc("X with its elements in the opposite order along some axes.")
      .Attr("dims", Required(INTS), Eras::kFluid)
      .Attr("axis", Required(INTS), Eras::kPaddle2)
      .Infer(LikeXWithAxes("dims", "axis"))
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("flip(X=Out@GRAD) -> (Out=X@GRAD)");
  ops.Define("roll(X, ShiftsTensor?@2) -> (Out)")
      .Doc(
          "X with its elements moved by shifts along some axes, from the end to the begin; without "
          "axes all elements in a row.")
      .Attr("shifts", Longs({}))
      .Attr("dims", Longs({}), Eras::kFluid)
      .Attr("axis", Longs({}), Eras::kPaddle2)
      .Infer(LikeXWithAxes("dims", "axis"))
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("roll_grad(X, ShiftsTensor@2, Out@GRAD) -> (X@GRAD)");
  ops.Define(
         "set_value(Input, ValueTensor?, StartsTensorList*?, EndsTensorList*?, StepsTensorList*?) "
         "-> (Out)")
      .Doc("Input with a slice of it replaced by ValueTensor, or by the values of an attribute.")
      .Attr("dtype", Int(5))
      .Attr("axes", Required(LONGS))
      .Attr("starts", Longs({}))
      .Attr("ends", Longs({}))
      .Attr("steps", Longs({}))
      .Attr("decrease_axes", Longs({}))
      .Attr("none_axes", Longs({}))
      .Attr("values", EmptyList(SCALARS))
      .Attr("shape", Longs({}))
      .Infer(SameAs("Input", {"Out"}))
      .Gradient(
          "set_value_grad(ValueTensor, StartsTensorList, EndsTensorList, StepsTensorList, "
          "Out@GRAD) -> (Input@GRAD, ValueTensor@GRAD)")
      .GradientInfer(InferSetValueGradient);
  return ops.Build();
}

}  // namespace fixpoint
