// Reductions over axes.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

absl::Status InferReduce(InferContext& op) {
  const TensorInfo x = op.Input("X");
  std::optional<DataType> dtype = x.dtype;
  if (op.Int("out_dtype") >= 0) {
    ASSIGN_OR_RETURN(dtype, DataTypeAttr(op, "out_dtype"));
  }
  op.SetOutput("Out", dtype, std::nullopt);
  if (!x.has_dims() || op.HasInput("AxisTensor") || op.HasInput("AxisTensorList")) {
    return absl::OkStatus();
  }
  const std::vector<int64_t> axes = op.Ints("dim");
  std::vector<bool> reduced(x.rank(), op.Bool("reduce_all") || axes.empty());
  for (int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
    reduced[i] = true;
  }
  const bool keep = op.Bool("keep_dim");
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) out.push_back(x.dims[i]);
    if (reduced[i] && keep) out.push_back(1);
  }
  // All reduced: [1], since 2.5 a scalar.
  if (out.empty()) out.push_back(1);
  op.SetOutput("Out", dtype, out);
  return absl::OkStatus();
}

absl::Status InferReduceToBool(InferContext& op) {
  RETURN_IF_ERROR(InferReduce(op));
  op.SetOutput("Out", VarType::BOOL, op.outputs().empty() ? std::nullopt : op.outputs()[0].dims);
  return absl::OkStatus();
}

OpSchemaBuilder& DefineReduce(OpList& ops, absl::string_view type, absl::string_view doc) {
  return ops.Define(absl::StrCat(type, "(X) -> (Out)"))
      .Doc(absl::StrCat(doc, " Over the axes `dim`, or all."))
      .Attr("dim", Ints({0}))
      .Attr("keep_dim", Bool(false))
      .Attr("reduce_all", Bool(false))
      .Attr("in_dtype", Int(-1))
      .Attr("out_dtype", Int(-1))
      .Hints("use_mkldnn@2")
      .Infer(InferReduce)
      .TakeLod({});
}

void DefineReduceToBool(OpList& ops, absl::string_view type, absl::string_view doc) {
  ops.Define(absl::StrCat(type, "(X, AxisTensor?@2, AxisTensorList*?@2) -> (Out)"))
      .Doc(absl::StrCat(doc, " Over the axes `dim`, or all."))
      .Attr("dim", Ints({0}), Eras::kFluid)
      .Attr("dim", Longs({0}), Eras::kPaddle2)
      .Attr("keep_dim", Bool(false))
      .Attr("reduce_all", Bool(false))
      .Attr("in_dtype", Int(-1))
      .Attr("out_dtype", Int(-1))
      .Hints("use_mkldnn@2")
      .Infer(InferReduceToBool)
      .TakeLod({});
}

// Before 2.0 the gradient is a cumsum in the opposite direction; since then it is an op of its own.
void ReverseInFluid(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> sum = OpAttributes::Of(forward, era);
  if (era != Era::kFluid || !sum) return;
  for (OpDesc& op : *gradients) SetAttr(MakeBoolAttr("reverse", !sum->Bool("reverse")), &op);
}

// X and Y [N, ...], or Y of one row.
absl::Status InferCosSim(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  const bool fits = x.rank() >= 2 && x.rank() == y.rank() &&
                    MayBeEqual(x.dims.subspan(1), y.dims.subspan(1)) &&
                    (y.dims[0] == 1 || MayBeEqual(x.dims[0], y.dims[0]));
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y ",
                                                   DimsText(y.dims),
                                                   "; want rows alike, and as many or one of Y"));
  }
  for (const char* slot : {"Out", "XNorm"}) op.SetOutput(slot, x.dtype, Dims{x.dims[0], 1});
  op.SetOutput("YNorm", x.dtype, Dims{y.dims[0], 1});
  return absl::OkStatus();
}

absl::Status InferDot(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.has_dims() && y.has_dims() && !MayBeEqual(x.dims, y.dims)) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y ",
                                                   DimsText(y.dims), "; want the same dimensions"));
  }
  if (!x.has_dims()) return absl::OkStatus();
  Dims out(x.dims.begin(), x.dims.end());
  if (op.era() == Era::kPaddle2 && x.rank() > 1) {
    out.pop_back();
  } else {
    out.back() = 1;
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ReductionOps() {
  OpList ops;
  DefineReduce(ops, "reduce_sum", "Sum.")
      .QuantizableOutputs({"Out"})
      .Gradient("reduce_sum_grad(X, Out@GRAD) -> (X@GRAD)");
  DefineReduce(ops, "reduce_mean", "Mean.")
      .QuantizableOutputs({"Out"})
      .Gradient("reduce_mean_grad(X, Out@GRAD) -> (X@GRAD)");
  DefineReduce(ops, "reduce_max", "Maximum.")
      .QuantizableOutputs({"Out"})
      .Gradient("reduce_max_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  DefineReduce(ops, "reduce_min", "Minimum.").GradientNotKnown();
  DefineReduce(ops, "reduce_prod", "Product.").GradientNotKnown();
  DefineReduceToBool(ops, "reduce_all", "Whether all are true.");
  DefineReduceToBool(ops, "reduce_any", "Whether any is true.");
  ops.Define("cumsum(X) -> (Out)")
      .Doc("Running sum along axis.")
      .Attr("axis", Int(-1))
      .Attr("flatten", Bool(false), Eras::kPaddle2)
      .Attr("exclusive", Bool(false))
      .Attr("reverse", Bool(false))
      .QuantizableOutputs({"Out"})
      .Gradient("cumsum(X=Out@GRAD) -> (Out=X@GRAD)", Eras::kFluid)
      .Gradient("cumsum_grad(X, Out@GRAD) -> (X@GRAD)", Eras::kPaddle2)
      .GradientBy(ReverseInFluid);
  ops.Define("cos_sim(X, Y) -> (Out, XNorm, YNorm)")
      .Doc("Cosine of the angle between the rows of X and Y, or its only row; 1.x only.")
      .Hints("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@")
      .Infer(InferCosSim)
      .QuantizableOutputs({"Out"})
      .Gradient("cos_sim_grad(X, Y, XNorm, YNorm, Out, Out@GRAD) -> (X@GRAD, Y@GRAD)");
  ops.Define("dot(X, Y) -> (Out)")
      .Doc(
          "Products of the vectors along the last axis, which in 1.x the result keeps with size 1.")
      .Infer(InferDot)
      .TakeLod({})
      .QuantizableOutputs({"Out"})
      .Gradient("dot_grad(X, Y, Out@GRAD) -> (X@GRAD, Y@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
