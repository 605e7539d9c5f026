// Ops that make a tensor from attributes: constants and random numbers; and casts and copies.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

// `shape`, but as long as Input on one axis.
absl::Status InferBatchSizeLike(InferContext& op) {
  ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "dtype"));
  ASSIGN_OR_RETURN(Dims out, ShapeAttr(op, "shape"));
  const TensorInfo input = op.Input("Input");
  op.SetOutput("Out", dtype, std::nullopt);
  if (out.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int to,
                   NormalizeAxis(op.Int("output_dim_idx"), static_cast<int>(out.size())));
  out[to] = kUnknownDim;
  if (input.has_dims()) {
    ASSIGN_OR_RETURN(const int from, NormalizeAxis(op.Int("input_dim_idx"), input.rank()));
    // The first dimension of a sequence counts all steps.
    if (input.lod_level == 0) out[to] = input.dims[from];
  }
  op.SetOutput("Out", dtype, out);
  return absl::OkStatus();
}

absl::Status InferCast(InferContext& op) {
  TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(x.dtype, DataTypeAttr(op, "out_dtype"));
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferFillLike(InferContext& op) {
  TensorInfo x = op.Input("X");
  if (op.Int("dtype") >= 0) {
    ASSIGN_OR_RETURN(x.dtype, DataTypeAttr(op, "dtype"));
  }
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferShapeOp(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  std::optional<Dims> out;
  if (input.has_dims()) out = Dims{input.rank()};
  op.SetOutput("Out", VarType::INT32, out);
  return absl::OkStatus();
}

absl::Status InferRange(InferContext& op) {
  op.SetOutput("Out", op.Input("Start").dtype, Dims{kUnknownDim});
  return absl::OkStatus();
}

// Casts the gradient back.
void SetCastGradientAttrs(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> cast = OpAttributes::Of(forward, era);
  for (OpDesc& op : *gradients) {
    op.clear_attrs();
    if (!cast) continue;
    *op.add_attrs() = MakeIntAttr("in_dtype", static_cast<int32_t>(cast->Int("out_dtype")));
    *op.add_attrs() = MakeIntAttr("out_dtype", static_cast<int32_t>(cast->Int("in_dtype")));
  }
}

void DefineRandom(OpList& ops) {
  const std::vector<std::string> shape_tensors = {"ShapeTensor", "ShapeTensorList"};
  constexpr char kSlots[] = "(ShapeTensor?, ShapeTensorList*?) -> (Out)";
  ops.Define(absl::StrCat("uniform_random", kSlots))
      .Doc("Uniform in [min, max).")
      .DrawsNumbers()
      .Attr("shape", Longs({}))
      .Attr("dtype", Int(5))
      .Attr("min", Float(-1))
      .Attr("max", Float(1))
      .Attr("seed", Int(0))
      .Attr("diag_num", Int(0))
      .Attr("diag_step", Int(0))
      .Attr("diag_val", Float(1))
      .Infer(ShapeFromAttr(shape_tensors));
  ops.Define(absl::StrCat("gaussian_random", kSlots))
      .Doc("Normal, of mean and standard deviation.")
      .DrawsNumbers()
      .Attr("shape", Longs({}))
      .Attr("dtype", Int(5))
      .Attr("mean", Float(0))
      .Attr("std", Float(1))
      .Attr("seed", Int(0))
      .Hints("use_mkldnn")
      .Infer(ShapeFromAttr(shape_tensors));
  ops.Define("truncated_gaussian_random() -> (Out)")
      .Doc("Normal, within two standard deviations.")
      .DrawsNumbers()
      .Attr("shape", Required(INTS))
      .Attr("dtype", Int(5))
      .Attr("mean", Float(0))
      .Attr("std", Float(1))
      .Attr("seed", Int(0))
      .Infer(ShapeFromAttr({}));
}

void DefineConstants(OpList& ops) {
  ops.Define("fill_constant(ValueTensor?, ShapeTensor?, ShapeTensorList*?) -> (Out)")
      .Doc("`shape` filled with value, or with str_value where that is not empty.")
      .Attr("shape", Longs({}))
      .Attr("dtype", Int(5))
      .Attr("value", Float(0))
      .Attr("str_value", String(""))
      .Attr("place_type", Int(-1), Eras::kPaddle2)
      .Hints("force_cpu, use_mkldnn@2")
      .NeverNegativeIf([](const OpAttributes& op) {
        return op.op().inputs().empty() && op.String("str_value").empty() && op.Float("value") >= 0;
      })
      .Infer(ShapeFromAttr({"ShapeTensor", "ShapeTensorList"}));
  ops.Define("fill_constant_batch_size_like(Input) -> (Out)")
      .Doc("fill_constant, with Input's size input_dim_idx as its size output_dim_idx.")
      .Attr("shape", Required(INTS))
      .Attr("input_dim_idx", Int(0))
      .Attr("output_dim_idx", Int(0))
      .Attr("dtype", Int(5))
      .Attr("value", Float(0))
      .Attr("str_value", String(""))
      .Hints("force_cpu")
      .Infer(InferBatchSizeLike)
      .TakeLod({})
      .QuantizableOutputs({"Out"});
  ops.Define("fill_zeros_like(X) -> (Out)")
      .Doc("Zeros of X's shape.")
      .Infer(SameAs("X", {"Out"}))
      .IsOfSamples();
  ops.Define("fill_any_like(X) -> (Out)")
      .Doc("X's shape filled with value.")
      .Attr("value", Float(0))
      .Attr("dtype", Int(-1))
      .Infer(InferFillLike)
      .IsOfSamples()
      .QuantizableOutputs({"Out"});
  ops.Define("assign_value() -> (Out)")
      .Doc("`shape` filled from the list of values of its dtype.")
      .Attr("shape", Required(INTS))
      .Attr("dtype", Required(INT))
      .Attr("bool_values", Ints({}))
      .Attr("fp32_values", Floats({}))
      .Attr("fp64_values", EmptyList(FLOAT64S), Eras::kPaddle2)
      .Attr("int32_values", Ints({}))
      .Attr("int64_values", Longs({}))
      .Infer(ShapeFromAttr({}));
  ops.Define("range(Start, End, Step) -> (Out)")
      .Doc("Start, Start + Step, ... before End.")
      .Infer(InferRange);
  ops.Define("shape(Input) -> (Out)")
      .Doc("Input's dimensions, INT32.")
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferShapeOp)
      .TakeLod({});
}

}  // namespace

std::vector<OpSchema> FillingOps() {
  OpList ops;
  DefineConstants(ops);
  DefineRandom(ops);
  ops.Define("assign(X?) -> (Out)")
      .Doc("Out = X.")
      .Infer(SameAs("X", {"Out"}))
      .Copies()
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("assign(X=Out@GRAD) -> (Out=X@GRAD)")
      .GradientBy(ClearGradientAttrs);
  ops.Define("rnn_memory_helper(X) -> (Out)")
      .Doc("Out = X: what a step of a StaticRNN hands to the next one.")
      .Attr("dtype", Int(VarType::FP32))
      .Infer(SameAs("X", {"Out"}))
      .Copies()
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("rnn_memory_helper_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  ops.Define("dither(X) -> (Out)")
      .Doc(
          "Out = X + u - 1/2, with u uniform in [0, 1), by which rounding to the nearest becomes "
          "stochastic; part of quantizers' formulas. Test programs read X.")
      .DrawsNumbers()
      .Attr("seed", Int(0))
      .Gradient("assign(X=Out@GRAD) -> (Out=X@GRAD)")
      .Infer(SameAs("X", {"Out"}));
  ops.Define("cast(X) -> (Out)")
      .Doc("X as out_dtype.")
      .Attr("out_dtype", Required(INT))
      .Attr("in_dtype", Required(INT))
      .Hints("use_mkldnn@2")
      .Infer(InferCast)
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("cast(X=Out@GRAD) -> (Out=X@GRAD)")
      .GradientBy(SetCastGradientAttrs);
  return ops.Build();
}

}  // namespace fixpoint
