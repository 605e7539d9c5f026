// Ops of two tensors, element by element, with the reference's axis rule for broadcasting.

#include "absl/strings/str_cat.h"
#include "ops/families/integer_ops.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferElementwise(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.kind == VarType::SELECTED_ROWS) op.SetOutputKind("Out", x.kind);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims out, BroadcastAtAxis(x.dims, y.dims, op.Int("axis")));
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

OpSchemaBuilder& Define(OpList& ops, absl::string_view type, absl::string_view doc,
                        absl::string_view gradient_inputs = "X, Y, Out@GRAD") {
  return ops.Define(absl::StrCat(type, "(X, Y) -> (Out)"))
      .Doc(absl::StrCat(doc, " Y stands at X's dimensions from `axis` on; -1: where X ends."))
      .Attr("axis", Int(-1))
      .Hints("use_mkldnn, use_quantizer@2, mkldnn_data_type@2, Scale_x@2, Scale_y@2, Scale_out@2")
      .Infer(InferElementwise)
      .IsOfSamples()
      .Gradient(absl::StrCat(type, "_grad(", gradient_inputs, ") -> (X@GRAD, Y@GRAD)"));
}

// Codes above their zero points have the signs of what they stand for.
bool ProductKeepsSign(const OpAttributes& op) {
  return EpilogueKeepsSign(op) && op.Int("weight_zero_point") == 0;
}

void Quantizable(OpSchemaBuilder& op) {
  op.QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableInput("Y", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"});
}

}  // namespace

std::vector<OpSchema> ElementwiseOps() {
  OpList ops;
  constexpr char kSumGradient[] = "X#, Y#, Out@GRAD";
  constexpr char kFormats[] = "x_data_format@1, y_data_format@1";
  Quantizable(Define(ops, "elementwise_add", "Out = X + Y.", kSumGradient)
                  .Hints(kFormats)
                  .KeepsSign()
                  .Sum({"X", "Y", "Out", "axis"}));
  Quantizable(Define(ops, "elementwise_sub", "Out = X - Y.", kSumGradient).Hints(kFormats));
  Quantizable(Define(ops, "elementwise_mul", "Out = X * Y.")
                  .Hints(kFormats)
                  .KeepsSign()
                  .MultipliesElements());
  Define(ops, "elementwise_div", "Out = X / Y.", "X, Y, Out, Out@GRAD").Hints(kFormats).KeepsSign();
  Define(ops, "elementwise_max", "Out = max(X, Y).").Hints(kFormats).KeepsSign();
  Define(ops, "elementwise_min", "Out = min(X, Y).")
      .Hints("x_data_format, y_data_format")
      .KeepsSign();
  Define(ops, "elementwise_pow", "Out = X ^ Y.").Hints(kFormats).QuantizableOutputs({"Out"});
  ops.Define("scale_gradient(X, Factor) -> (Out)")
      .Doc("Out = X, whose gradient is that of Out times Factor [1]; part of quantizers' formulas.")
      .Gradient("elementwise_mul(X=Out@GRAD, Y=Factor) -> (Out=X@GRAD)")
      .Infer(SameAs("X", {"Out"}));
  OpSchemaBuilder& product =
      ops.Define("integer_elementwise_mul(X, Y, Scales, Operands*?) -> (Out)");
  DefineProductOfCodes(product)
      .Doc(
          "elementwise_mul of codes X and Y, INT8 or UINT8: each exact product as FP32 times "
          "Scales "
          "[1], then the epilogue. A channel is one of axis 1 of 4 dimensions, else of the last.")
      .Attr("axis", Int(-1))
      .KeepsSignIf(ProductKeepsSign)
      .MultipliesElements()
      .IsOfSamples()
      .GivesImages()
      .Infer(InferStored(InferElementwise, "Out"));
  return ops.Build();
}

}  // namespace fixpoint
