// Matrix products.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/epilogue.h"
#include "ops/families/integer_ops.h"
#include "ops/fused_work.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Splits dims into the two that `columns` leading ones and the rest are flattened to.
absl::StatusOr<std::pair<DimsView, DimsView>> SplitDims(absl::string_view slot, DimsView dims,
                                                        absl::string_view attr, int64_t columns) {
  if (columns < 1 || columns >= static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat(attr, " is ", columns, " and ", slot, " is ",
                                                   DimsText(dims), "; want 1 to ",
                                                   static_cast<int64_t>(dims.size()) - 1));
  }
  return std::make_pair(dims.subspan(0, columns), dims.subspan(columns));
}

absl::Status InferFlattenedProduct(InferContext& op, int64_t y_columns) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto x_parts,
                   SplitDims("X", x.dims, "x_num_col_dims", op.Int("x_num_col_dims")));
  ASSIGN_OR_RETURN(const auto y_parts, SplitDims("Y", y.dims, "y_num_col_dims", y_columns));
  ASSIGN_OR_RETURN(const int64_t x_inner, ElementCount(x_parts.second));
  ASSIGN_OR_RETURN(const int64_t y_inner, ElementCount(y_parts.first));
  if (!MayBeEqual(x_inner, y_inner)) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsText(x.dims), " has rows of ", x_inner,
                                                   " and Y ", DimsText(y.dims), " has columns of ",
                                                   y_inner, "; want equal numbers"));
  }
  Dims out(x_parts.first.begin(), x_parts.first.end());
  out.insert(out.end(), y_parts.second.begin(), y_parts.second.end());
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferMul(InferContext& op) {
  return InferFlattenedProduct(op, op.Int("y_num_col_dims"));
}

// Infers a row-wise product. A slot with entries for the columns of Y has one for each.
absl::Status InferRowWise(InferContext& op) {
  RETURN_IF_ERROR(InferFlattenedProduct(op, 1));
  const TensorInfo y = op.Input("Y");
  if (!y.has_dims()) return absl::OkStatus();
  for (const char* slot : {"Scales", "Offsets", "Bias"}) {
    const TensorInfo columns = op.Input(slot);
    const bool fits = !columns.has_dims() || (columns.rank() == 1 && y.rank() == 2 &&
                                              MayBeEqual(columns.dims[0], y.dims[1]));
    if (fits) continue;
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(columns.dims), " and Y ",
                                                   DimsText(y.dims),
                                                   "; want a matrix, and one for each column"));
  }
  return absl::OkStatus();
}

// Dims of a product over the last two dimensions, the leading ones broadcast. A vector X is a row
// and a vector Y a column, or, transposed, the other; the result does not have the vector's
// dimension of 1. Two vectors may give a scalar: no dims.
absl::StatusOr<Dims> ProductDims(DimsView x_dims, bool transpose_x, DimsView y_dims,
                                 bool transpose_y) {
  const bool x_is_vector = x_dims.size() == 1;
  const bool y_is_vector = y_dims.size() == 1;
  Dims x(x_dims.begin(), x_dims.end());
  Dims y(y_dims.begin(), y_dims.end());
  if (x_is_vector) x.insert(x.begin(), 1);
  if (y_is_vector) y.push_back(1);
  if (transpose_x) std::swap(x[x.size() - 1], x[x.size() - 2]);
  if (transpose_y) std::swap(y[y.size() - 1], y[y.size() - 2]);
  if (!MayBeEqual(x.back(), y[y.size() - 2])) {
    return absl::InvalidArgumentError(
        absl::StrCat("X ", DimsText(x_dims), transpose_x ? " transposed" : "", " has rows of ",
                     x.back(), " and Y ", DimsText(y_dims), transpose_y ? " transposed" : "",
                     " has columns of ", y[y.size() - 2], "; want equal numbers"));
  }
  ASSIGN_OR_RETURN(Dims out, Broadcast(DimsView(x).subspan(0, x.size() - 2),
                                       DimsView(y).subspan(0, y.size() - 2)));
  if (!x_is_vector || x[x.size() - 2] != 1) out.push_back(x[x.size() - 2]);
  if (!y_is_vector || y.back() != 1) out.push_back(y.back());
  return out;
}

absl::Status InferProduct(InferContext& op, bool transpose_x, bool transpose_y) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Dims out, ProductDims(x.dims, transpose_x, y.dims, transpose_y));
  if (out.empty()) out.push_back(1);
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

// A vector is the same, transposed or not.
absl::Status InferMatmulV2(InferContext& op) {
  return InferProduct(op, op.Bool("trans_x") && op.Input("X").rank() > 1,
                      op.Bool("trans_y") && op.Input("Y").rank() > 1);
}

absl::Status InferBmm(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  const bool are_known = x.has_dims() && y.has_dims();
  if (are_known && (x.rank() != 3 || y.rank() != 3 || !MayBeEqual(x.dims[0], y.dims[0]))) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y is ",
                                                   DimsText(y.dims),
                                                   "; want as many matrices in both"));
  }
  return InferProduct(op, /*transpose_x=*/false, /*transpose_y=*/false);
}

// matmul can also reshape and transpose its result, where oneDNN does all three in one.
absl::Status InferMatmul(InferContext& op) {
  if (op.era() == Era::kFluid &&
      (!op.Ints("fused_reshape_Out").empty() || op.Int("head_number") > 1)) {
    op.SetOutput("Out", op.Input("X").dtype, std::nullopt);
    return absl::OkStatus();
  }
  return InferProduct(op, op.Bool("transpose_X"), op.Bool("transpose_Y"));
}

absl::Status InferFc(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo w = op.Input("W");
  op.SetOutput("Out", input.dtype, std::nullopt);
  if (!input.has_dims() || w.rank() != 2) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto parts,
                   SplitDims("Input", input.dims, "in_num_col_dims", op.Int("in_num_col_dims")));
  // Padded weights have 4 rows and 4 columns more than they mean.
  const int64_t padding = op.Bool("padding_weights") ? 4 : 0;
  ASSIGN_OR_RETURN(const int64_t inner, ElementCount(parts.second));
  if (inner >= 0 && w.dims[0] >= 0 && inner != w.dims[0] - padding) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input ", DimsText(input.dims), " has rows of ", inner, " and W ", DimsText(w.dims),
        " has columns of ", w.dims[0] - padding, "; want equal numbers"));
  }
  Dims out(parts.first.begin(), parts.first.end());
  const int64_t columns = w.dims[1] < 0 ? kUnknownDim : w.dims[1] - padding;
  out.push_back(columns);
  op.SetOutput("Out", input.dtype, out);
  const TensorInfo bias = op.Input("Bias");
  if (!bias.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t biases, ElementCount(bias.dims));
  if (MayBeEqual(biases, columns)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Bias is ", DimsText(bias.dims), "; want ", columns, " elements"));
}

bool EndsInRelu(const OpAttributes& op) { return op.String("activation_type") == "relu"; }

ProductTrait ProductOfForm(ProductTrait::Form form) {
  ProductTrait product;
  product.form = form;
  product.activation = "X";
  product.weight = "Y";
  product.output = "Out";
  return product;
}

ProductTrait FlattenedProduct() {
  ProductTrait product = ProductOfForm(ProductTrait::Form::kFlattened);
  product.activation_rows = "x_num_col_dims";
  product.weight_rows = "y_num_col_dims";
  return product;
}

// Out = Beta * Input + Alpha * X * Y; Input is broadcast to the product.
absl::Status InferAddmm(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  if (x.rank() != 2 || y.rank() != 2 || !MayBeEqual(x.dims[1], y.dims[0])) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y ",
                                                   DimsText(y.dims), "; want [M,K] and [K,N]"));
  }
  const Dims out = {x.dims[0], y.dims[1]};
  op.SetOutput("Out", x.dtype, out);
  for (int i = 0; i < input.rank(); ++i) {
    const int axis = 2 - input.rank() + i;
    if (axis >= 0 && (input.dims[i] == 1 || MayBeEqual(input.dims[i], out[axis]))) continue;
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input.dims),
                                                   "; want what broadcasts to ", DimsText(out)));
  }
  return absl::OkStatus();
}

ProductTrait WithBias(ProductTrait product) {
  product.bias = "Bias";
  return product;
}

ProductTrait RowWiseProduct() {
  ProductTrait product = FlattenedProduct();
  product.weight_rows.clear();
  return WithBias(product);
}

ProductTrait ProductOfMatrices(const char* transposes_x, const char* transposes_y) {
  ProductTrait product = ProductOfForm(ProductTrait::Form::kMatrices);
  product.transposes_activation = transposes_x;
  product.transposes_weight = transposes_y;
  return product;
}

ProductTrait MatmulProduct() {
  ProductTrait product = ProductOfMatrices("transpose_X", "transpose_Y");
  product.factor = "alpha";
  product.own_work = [](const Op&, const OpAttributes& op) -> absl::StatusOr<OwnWork> {
    RETURN_IF_ERROR(CheckMatmulAlone(op));
    return OwnWork();
  };
  return product;
}

absl::StatusOr<OwnWork> FcWork(const Op& op, const OpAttributes& attributes) {
  if (attributes.Bool("padding_weights")) {
    return absl::UnimplementedError("padding_weights is true; want weights without padding");
  }
  const std::string activation = attributes.String("activation_type");
  if (!activation.empty() && !EndsInRelu(attributes)) {
    return absl::UnimplementedError(
        absl::StrCat("activation_type is \"", activation, "\"; want \"relu\" or none"));
  }
  OwnWork work;
  work.bias = FindGivenInput(op, "Bias");
  if (EndsInRelu(attributes)) work.stages = {{EpilogueStage::Kind::kRelu}};
  return work;
}

ProductTrait FcProduct() {
  ProductTrait product;
  product.form = ProductTrait::Form::kFlattened;
  product.activation = "Input";
  product.weight = "W";
  product.output = "Out";
  product.activation_rows = "in_num_col_dims";
  product.own_work = FcWork;
  return WithBias(product);
}

// A product either operand of which can be the weight.
OpSchemaBuilder& DefineProduct(OpList& ops, absl::string_view type, ProductTrait product) {
  return ops.Define(absl::StrCat(type, "(X, Y) -> (Out)"))
      .Product(std::move(product))
      .QuantizableOperands(SlotRole::WEIGHT_OR_ACTIVATION, SlotRole::WEIGHT_OR_ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Gradient(absl::StrCat(type, "_grad(X, Y, Out@GRAD) -> (X@GRAD, Y@GRAD)"));
}

}  // namespace

std::vector<OpSchema> ProductOps() {
  OpList ops;
  DefineProduct(ops, "mul", FlattenedProduct())
      .Doc(
          "Product of X and Y, each flattened to two dimensions: X after x_num_col_dims, Y after "
          "y_num_col_dims.")
      .Attr("x_num_col_dims", Int(1))
      .Attr("y_num_col_dims", Int(1))
      .Attr("scale_x", Float(1))
      .Attr("scale_y", Floats({1}))
      .Attr("scale_out", Float(1))
      .Hints("use_mkldnn, force_fp32_output")
      .Infer(InferMul);

  DefineProduct(ops, "matmul", MatmulProduct())
      .Doc("alpha times the product of X and Y over their last two dimensions.")
      .Attr("transpose_X", Bool(false))
      .Attr("transpose_Y", Bool(false))
      .Attr("alpha", Float(1))
      .Attr("head_number", Int(1))
      .Attr("fused_reshape_Out", Ints({}), Eras::kFluid)
      .Attr("fused_transpose_Out", Ints({}), Eras::kFluid)
      .Hints(
          "use_mkldnn, use_quantizer, mkldnn_data_type@2, Scale_x, Scale_y, Scale_out, "
          "force_fp32_output")
      .Infer(InferMatmul);

  DefineProduct(ops, "matmul_v2", ProductOfMatrices("trans_x", "trans_y"))
      .Doc("Product of X and Y over their last two dimensions, the others broadcast.")
      .Attr("trans_x", Bool(false))
      .Attr("trans_y", Bool(false))
      .Hints("use_mkldnn, mkldnn_data_type")
      .Infer(InferMatmulV2)
      .TakeLod({});

  DefineProduct(ops, "bmm", ProductOfMatrices("", ""))
      .Doc("Products of the matrices of X [B,M,K] and Y [B,K,N].")
      .Infer(InferBmm);

  ops.Define("addmm(Input, X, Y) -> (Out)")
      .Doc("Beta * Input + Alpha * X * Y, of X [M,K] and Y [K,N]; Input is broadcast to [M,N].")
      .Attr("Alpha", Float(1))
      .Attr("Beta", Float(1))
      .Hints("use_mkldnn")
      .Infer(InferAddmm)
      .TakeLod({})
      .QuantizableOutputs({"Out"})
      .Gradient("addmm_grad(Input, X, Y, Out@GRAD) -> (Input@GRAD, X@GRAD, Y@GRAD)");

  ops.Define("fc(Input, W, Bias?) -> (Out)")
      .Doc(
          "Input, flattened after in_num_col_dims, times W [K,N], plus Bias, then the activation. "
          "Made by the reference's inference passes.")
      .Attr("in_num_col_dims", Int(1))
      .Attr("activation_type", String(""))
      .Attr("padding_weights", Bool(false))
      .Hints(
          "use_mkldnn, use_quantizer, mkldnn_data_type@2, Scale_in, Scale_weights, Scale_out, "
          "force_fp32_output, @ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@@1")
      .Product(FcProduct())
      .QuantizableOperands(SlotRole::ACTIVATION, SlotRole::WEIGHT)
      .QuantizableInput("Bias", SlotRole::ADDEND)
      .QuantizableOutputs({"Out"})
      .NeverNegativeIf(EndsInRelu)
      .Infer(InferFc);

  DefineProductOfCodes(ops.Define("integer_mul(X, Y, Scales, Bias?, Operands*?) -> (Out)"))
      .Doc(
          "mul of codes X and Y, each INT8, UINT8 or INT16: each exact sum, with that of Bias, "
          "INT16 or INT32, as FP32 times Scales, one or one for each column of Y, then the "
          "epilogue. A channel is a column.")
      .Attr("x_num_col_dims", Int(1))
      .Attr("y_num_col_dims", Int(1))
      .Product(WithBias(FlattenedProduct()))
      .Infer(InferStored(InferMul, "Out"));
  DefineEpilogue(
      ops.Define("integer_row_wise_fc(X, Y, Scales, Offsets, Bias?, Operands*?) -> (Out)"))
      .Doc(
          "integer_mul of weights Y [K,N] whose columns have an offset each: the sum over X * (Y - "
          "Offsets), of INT32, plus Bias, INT16 or INT32, is exact, and as FP32 times Scales; then "
          "the epilogue.")
      .Attr("x_num_col_dims", Int(1))
      .Product(RowWiseProduct())
      .Infer(InferStored(InferRowWise, "Out"));
  DefineProductOfCodes(ops.Define("integer_matmul(X, Y, Scales, Bias?, Operands*?) -> (Out)"))
      .Doc(
          "matmul_v2 of codes X and Y, each INT8, UINT8 or INT16: each exact sum, with that of "
          "Bias, INT16 or INT32, as FP32 times Scales, one or one for each column of Y, then the "
          "epilogue. A channel is a column.")
      .Attr("trans_x", Bool(false))
      .Attr("trans_y", Bool(false))
      .Product(WithBias(ProductOfMatrices("trans_x", "trans_y")))
      .Infer(InferStored(InferMatmulV2, "Out"));
  return ops.Build();
}

}  // namespace fixpoint
