// Ops that make grids and matrices, or take a triangle of one.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferEye(InferContext& op) {
  ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "dtype"));
  const int64_t rows = op.Int("num_rows");
  int64_t columns = op.Int("num_columns");
  if (columns == -1) columns = rows;
  if (rows < 0 || columns < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_rows is ", rows, " and num_columns ", columns,
                     "; want 0 or more, or -1 for as many columns as rows"));
  }
  RETURN_IF_ERROR(ElementCount({rows, columns}).status());
  op.SetOutput("Out", dtype, Dims{rows, columns});
  return absl::OkStatus();
}

// The size is that of Num, which a tensor holds.
absl::Status InferLinspace(InferContext& op) {
  std::optional<DataType> dtype = op.Input("Start").dtype;
  if (op.era() == Era::kPaddle2) {
    ASSIGN_OR_RETURN(dtype, DataTypeAttr(op, "dtype"));
  }
  op.SetOutput("Out", dtype, Dims{kUnknownDim});
  return absl::OkStatus();
}

absl::Status InferMeshgrid(InferContext& op) {
  const int count = op.InputCount("X");
  Dims dims;
  for (int i = 0; i < count; ++i) {
    const TensorInfo x = op.Input("X", i);
    if (x.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is ", DimsText(x.dims), "; want one dimension"));
    }
    dims.push_back(x.has_dims() ? x.dims[0] : kUnknownDim);
  }
  if (op.OutputCount("Out") != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", count, " inputs and ", op.OutputCount("Out"), " outputs; want as many"));
  }
  RETURN_IF_ERROR(ElementCount(dims).status());
  for (int i = 0; i < count; ++i) op.SetOutput("Out", i, op.Input("X", i).dtype, dims);
  return absl::OkStatus();
}

absl::Status InferTriangle(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  if (!x.has_dims() || x.rank() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", DimsText(x.dims), "; want 2 dimensions or more"));
}

absl::Status InferTriangleGradient(InferContext& op) {
  op.SetOutputLike("X@GRAD", op.Input("Out@GRAD"));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> GridOps() {
  OpList ops;
  ops.Define("eye() -> (Out)")
      .Doc("A matrix with 1 on its diagonal, and 0 elsewhere.")
      .Attr("num_rows", Required(LONG))
      .Attr("num_columns", Long(-1))
      .Attr("dtype", Int(5))
      .Infer(InferEye);
  ops.Define("linspace(Start, Stop, Num) -> (Out)")
      .Doc("Num numbers from Start to Stop, at equal distances.")
      .Attr("dtype", Required(INT), Eras::kPaddle2)
      .Infer(InferLinspace)
      .TakeLod({});
  ops.Define("meshgrid(X*) -> (Out*)")
      .Doc("Each X [n] along its own axis of a grid that has one for each.")
      .Infer(InferMeshgrid)
      .TakeLod({})
      .GradientNotKnown();
  ops.Define("tril_triu(X) -> (Out)")
      .Doc("X, with 0 above the diagonal of its matrices, or below it where lower is false.")
      .Attr("diagonal", Int(0))
      .Attr("lower", Required(BOOLEAN))
      .Infer(InferTriangle)
      .Gradient("tril_triu_grad(Out@GRAD) -> (X@GRAD)")
      .GradientInfer(InferTriangleGradient);
  return ops.Build();
}

}  // namespace fixpoint
