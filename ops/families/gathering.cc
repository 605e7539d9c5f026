// Ops that pick or place elements by indices that a tensor holds.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferGather(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo index = op.Input("Index");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !index.has_dims() || op.HasInput("Axis")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Dims out(x.dims.begin(), x.dims.end());
  out[axis] = index.dims[0];
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

// The last dimension of Index says how many axes its rows are places of.
absl::StatusOr<int> AxesOfRows(const TensorInfo& x, const TensorInfo& index) {
  const int64_t axes = index.dims.back();
  if (axes >= 1 && axes <= x.rank()) return static_cast<int>(axes);
  return absl::InvalidArgumentError(
      absl::StrCat("Index is ", DimsText(index.dims), " and X is ", DimsText(x.dims),
                   "; want a last dimension of Index of 1 to ", x.rank(), ", the axes of X"));
}

// [..., K] indices of X's first K axes give [..., X's other dimensions].
Dims DimsOfRows(const TensorInfo& x, const TensorInfo& index, int axes) {
  Dims out(index.dims.begin(), index.dims.end() - 1);
  out.insert(out.end(), x.dims.begin() + axes, x.dims.end());
  return out;
}

absl::Status InferGatherNd(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo index = op.Input("Index");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !index.has_dims() || index.dims.back() < 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axes, AxesOfRows(x, index));
  const Dims out = DimsOfRows(x, index, axes);
  if (!out.empty()) op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferScatterNdAdd(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo index = op.Input("Index");
  const TensorInfo updates = op.Input("Updates");
  op.SetOutputLike("Out", x);
  const bool are_known = x.has_dims() && index.has_dims() && updates.has_dims();
  if (!are_known || index.dims.back() < 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axes, AxesOfRows(x, index));
  const Dims wanted = DimsOfRows(x, index, axes);
  if (MayBeEqual(wanted, updates.dims) || wanted.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Updates is ", DimsText(updates.dims), "; want ", DimsText(wanted)));
}

absl::Status InferIndexSelect(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo index = op.Input("Index");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !index.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("dim"), x.rank()));
  Dims out(x.dims.begin(), x.dims.end());
  out[axis] = index.dims[0];
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferIndexSample(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo index = op.Input("Index");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !index.has_dims()) return absl::OkStatus();
  if (x.rank() != 2 || index.rank() != 2 || !MayBeEqual(x.dims[0], index.dims[0])) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Index is ",
                                                   DimsText(index.dims),
                                                   "; want matrices with as many rows"));
  }
  op.SetOutput("Out", x.dtype, Dims(index.dims.begin(), index.dims.end()));
  return absl::OkStatus();
}

absl::Status CheckAlongAxis(const TensorInfo& x, const TensorInfo& index, int64_t named_axis) {
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named_axis, x.rank()));
  Dims others(index.dims.begin(), index.dims.end());
  if (index.rank() == x.rank()) others[axis] = x.dims[axis];
  if (MayBeEqual(others, x.dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Index is ", DimsText(index.dims),
                                                 " and Input is ", DimsText(x.dims),
                                                 "; want equal sizes but on axis ", axis));
}

absl::Status InferTakeAlongAxis(InferContext& op) {
  const TensorInfo x = op.Input("Input");
  const TensorInfo index = op.Input("Index");
  op.SetOutput("Result", x.dtype, std::nullopt);
  if (!x.has_dims() || !index.has_dims()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckAlongAxis(x, index, op.Int("Axis")));
  op.SetOutput("Result", x.dtype, Dims(index.dims.begin(), index.dims.end()));
  return absl::OkStatus();
}

absl::Status InferPutAlongAxis(InferContext& op) {
  const TensorInfo x = op.Input("Input");
  const TensorInfo index = op.Input("Index");
  const TensorInfo value = op.Input("Value");
  op.SetOutputLike("Result", x);
  if (!x.has_dims() || !index.has_dims()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckAlongAxis(x, index, op.Int("Axis")));
  if (!value.has_dims() || MayBeEqual(value.dims, index.dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Value is ", DimsText(value.dims), " and Index ",
                                                 DimsText(index.dims), "; want one shape"));
}

// The gradient of X has Out's dims, that of Updates its own.
absl::Status InferScatterGradient(InferContext& op) {
  op.SetOutputLike("X@GRAD", op.Input("Out@GRAD"));
  op.SetOutputLike("Updates@GRAD", op.Input("Updates"));
  return absl::OkStatus();
}

void DefineGathers(OpList& ops) {
  ops.Define("gather(X, Index, Axis?@2) -> (Out)")
      .Doc("X's entries at Index along axis.")
      .Attr("overwrite", Bool(true), Eras::kFluid)
      .Attr("axis", Int(0), Eras::kPaddle2)
      .Infer(InferGather)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("gather_grad(X, Index, Axis@2, Out@GRAD) -> (X@GRAD)");
  ops.Define("gather_nd(X, Index) -> (Out)")
      .Doc("X's parts at rows of indices of its first axes: Index [..., K].")
      .Infer(InferGatherNd)
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("gather_nd_grad(X, Index, Out@GRAD) -> (X@GRAD)");
  ops.Define("index_select(X, Index) -> (Out)")
      .Doc("X's entries at Index [n] along the axis dim.")
      .Attr("dim", Int(0))
      .Infer(InferIndexSelect)
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("index_select_grad(X, Index, Out@GRAD) -> (X@GRAD)");
  ops.Define("index_sample(X, Index) -> (Out)")
      .Doc("Of each row of X [N,M] the entries at the same row of Index [N,K].")
      .Infer(InferIndexSample)
      .KeepsRange()
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("index_sample_grad(X, Index, Out@GRAD) -> (X@GRAD)");
  ops.Define("take_along_axis(Input, Index) -> (Result)")
      .Doc("Element i of each line of Result along Axis is that at Index[i] of Input's line.")
      .Attr("Axis", Int(0))
      .Infer(InferTakeAlongAxis)
      .TakeLod({})
      .Moves("Input")
      .Gradient("take_along_axis_grad(Input, Index, Result@GRAD) -> (Input@GRAD)");
}

void DefineScatters(OpList& ops) {
  ops.Define("scatter(X, Ids, Updates) -> (Out)")
      .Doc("X with rows Ids replaced by Updates or, without overwrite, by the sums of theirs.")
      .Attr("overwrite", Bool(true))
      .Infer(SameAs("X", {"Out"}))
      .Gradient("scatter_grad(Ids, Updates, Out@GRAD) -> (X@GRAD, Updates@GRAD)")
      .GradientInfer(InferScatterGradient);
  ops.Define("put_along_axis(Input, Index, Value) -> (Result)")
      .Doc(
          "Input, with element i of each line of Value along Axis put to the place Index[i] of "
          "Input's line, or added or multiplied there by Reduce: to what Input has, or, without "
          "Include_self, to nothing.")
      .Attr("Axis", Required(INT))
      .Attr("Reduce", String("assign"))
      .Attr("Include_self", Bool(true))
      .Infer(InferPutAlongAxis)
      .TakeLod({})
      .JoinsValuesIf({"Input", "Value"},
                     [](const OpAttributes& op) { return op.String("Reduce") == "assign"; })
      .Gradient(
          "put_along_axis_grad(Input, Index, Value, Result, Result@GRAD) -> (Input@GRAD, "
          "Value@GRAD)");
  ops.Define("scatter_nd_add(X, Index, Updates) -> (Out)")
      .Doc("X with Updates added at rows of indices of its first axes: Index [..., K].")
      .Infer(InferScatterNdAdd)
      .Gradient("scatter_nd_add_grad(Index, Updates, Out@GRAD) -> (X@GRAD, Updates@GRAD)")
      .GradientInfer(InferScatterGradient);
}

}  // namespace

std::vector<OpSchema> GatheringOps() {
  OpList ops;
  DefineGathers(ops);
  DefineScatters(ops);
  ops.Define("where(Condition, X, Y) -> (Out)")
      .Doc("X where Condition, else Y.")
      .IsOfSamples()
      .KeepsSign()
      .JoinsValues({"X", "Y"})
      .QuantizableOutputs({"Out"})
      .Gradient("where_grad(Condition, X, Y, Out@GRAD) -> (X@GRAD, Y@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
