// Convolution and transposed convolution.

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/families/integer_ops.h"
#include "ops/fused_work.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/int8_convolution.h"
#include "ops/op_schema_builder.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// An image and the filter that slides over it.
struct Geometry {
  int channel_axis;
  int height_axis;
  Window window;
};

absl::Status CheckRank(absl::string_view slot, const TensorInfo& tensor) {
  if (tensor.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(tensor.dims), "; want 4 dimensions"));
}

absl::StatusOr<Geometry> ReadGeometry(InferContext& op, const TensorInfo& input,
                                      const TensorInfo& filter) {
  RETURN_IF_ERROR(CheckRank("Input", input));
  RETURN_IF_ERROR(CheckRank("Filter", filter));
  Geometry geometry;
  const bool channels_last = IsChannelsLast(op.String("data_format"));
  geometry.channel_axis = channels_last ? 3 : 1;
  geometry.height_axis = channels_last ? 1 : 2;
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          op.String("padding_algorithm")};
  ASSIGN_OR_RETURN(geometry.window, MakeWindow(attrs, filter.dims.subspan(2),
                                               input.dims.subspan(geometry.height_axis, 2)));
  return geometry;
}

absl::StatusOr<int64_t> TimesGroups(int64_t channels, int64_t groups) {
  if (channels < 0) return kUnknownDim;
  int64_t product;
  if (!__builtin_mul_overflow(channels, groups, &product)) return product;
  return absl::InvalidArgumentError(
      absl::StrCat(groups, " groups of ", channels, " channels are more than an int64 holds"));
}

absl::Status InferImages(InferContext& op, std::optional<DataType> dtype) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Output", dtype, std::nullopt);
  if (!input.has_dims() || !filter.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Geometry geometry, ReadGeometry(op, input, filter));
  ASSIGN_OR_RETURN(const int64_t groups, PositiveAttr(op, "groups"));
  ASSIGN_OR_RETURN(const int64_t channels, TimesGroups(filter.dims[1], groups));
  if (!MayBeEqual(channels, input.dims[geometry.channel_axis])) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Filter ", DimsText(filter.dims), " with ", groups, " groups reads ", channels,
        " channels; Input ", DimsText(input.dims), " has ", input.dims[geometry.channel_axis]));
  }
  if (filter.dims[0] > 0 && filter.dims[0] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Filter makes ", filter.dims[0], " channels; want a multiple of the ", groups, " groups"));
  }
  Dims out(input.dims.begin(), input.dims.end());
  out[geometry.channel_axis] = filter.dims[0];
  for (int i = 0; i < 2; ++i) {
    int64_t& size = out[geometry.height_axis + i];
    ASSIGN_OR_RETURN(size, WindowCount(size, geometry.window[i]));
  }
  op.SetOutput("Output", dtype, out);
  return absl::OkStatus();
}

absl::Status InferConv2d(InferContext& op) { return InferImages(op, op.Input("Input").dtype); }

// Images of codes, as oneDNN computes it (ops/int8_convolution.h), or of floats.
absl::Status InferOfCodesOrFloats(InferContext& op) {
  const std::optional<DataType> dtype = op.Input("Input").dtype;
  if (!dtype || !IsCodeDtype(*dtype)) return InferImages(op, dtype);
  std::optional<DataType> residual;
  if (op.HasInput("ResidualData")) residual = op.Input("ResidualData").dtype;
  return InferImages(op, Int8ConvolutionDtype(op, residual));
}

// What `output_size` or `output_padding` make of the size that the formula gives.
absl::StatusOr<int64_t> ChosenSize(int64_t made, const WindowAxis& axis, int i,
                                   const std::vector<int64_t>& output_size,
                                   const std::vector<int64_t>& output_padding) {
  if (made < 0) return kUnknownDim;
  const absl::int128 smallest = made;
  const absl::int128 wanted = !output_size.empty()      ? output_size[i]
                              : !output_padding.empty() ? smallest + output_padding[i]
                                                        : smallest;
  const absl::int128 largest =
      std::min<absl::int128>(smallest + axis.stride - 1, std::numeric_limits<int64_t>::max());
  if (wanted >= smallest && wanted <= largest) return static_cast<int64_t>(wanted);
  std::ostringstream message;  // absl::StrCat takes no int128
  message << "the output's size is to be " << wanted << "; want " << smallest << " to " << largest;
  return absl::InvalidArgumentError(message.str());
}

absl::Status CheckTwoOrNone(absl::string_view name, const std::vector<int64_t>& values) {
  if (values.empty() || values.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", values.size(), " values; want 2 or none"));
}

absl::Status InferConv2dTranspose(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Output", input.dtype, std::nullopt);
  if (!input.has_dims() || !filter.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Geometry geometry, ReadGeometry(op, input, filter));
  ASSIGN_OR_RETURN(const int64_t groups, PositiveAttr(op, "groups"));
  if (!MayBeEqual(filter.dims[0], input.dims[geometry.channel_axis])) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Filter ", DimsText(filter.dims), " reads ", filter.dims[0], " channels; Input ",
        DimsText(input.dims), " has ", input.dims[geometry.channel_axis]));
  }
  const std::vector<int64_t> output_size = op.Ints("output_size");
  const std::vector<int64_t> output_padding = op.Ints("output_padding");
  RETURN_IF_ERROR(CheckTwoOrNone("output_size", output_size));
  RETURN_IF_ERROR(CheckTwoOrNone("output_padding", output_padding));
  Dims out(input.dims.begin(), input.dims.end());
  ASSIGN_OR_RETURN(out[geometry.channel_axis], TimesGroups(filter.dims[1], groups));
  for (int i = 0; i < 2; ++i) {
    int64_t& size = out[geometry.height_axis + i];
    ASSIGN_OR_RETURN(const int64_t made, TransposedSize(size, geometry.window[i]));
    ASSIGN_OR_RETURN(size, ChosenSize(made, geometry.window[i], i, output_size, output_padding));
  }
  op.SetOutput("Output", input.dtype, out);
  return absl::OkStatus();
}

ProductTrait ProductOfForm(ProductTrait::Form form, const char* bias) {
  ProductTrait product;
  product.form = form;
  product.bias = bias;
  product.activation = "Input";
  product.weight = "Filter";
  product.output = "Output";
  product.data_format = "data_format";
  return product;
}

// A relu here is a stage in every release, and so is a clip with any lower bound.
absl::StatusOr<OwnWork> ConvolutionWork(const Op& op, const OpAttributes& attributes) {
  ASSIGN_OR_RETURN(const FusedWork fused, FusedWorkOf(op, attributes));
  OwnWork work;
  if (fused.adds_bias) work.bias = op.Input("Bias");
  if (fused.adds_residual) work.residual = op.Input("ResidualData");
  if (!fused.activation) return work;
  const Activation& activation = *fused.activation;
  using Kind = EpilogueStage::Kind;
  switch (activation.function) {
    case ActivationFunction::kRelu:
      work.stages = {{Kind::kRelu}};
      break;
    case ActivationFunction::kClip:
      work.stages = {{Kind::kClip, activation.a, activation.b}};
      break;
    case ActivationFunction::kLeakyRelu:
      work.stages = {{Kind::kLeakyRelu, activation.a}};
      break;
    default:
      work.function = activation;
  }
  return work;
}

absl::StatusOr<OwnWork> TransposedWork(const Op& op, const OpAttributes& /*attributes*/) {
  RETURN_IF_ERROR(CheckNothingFused(op));
  return OwnWork();
}

void DefineWindow(OpSchemaBuilder& op) {
  op.Attr("strides", Ints({1, 1}))
      .Attr("paddings", Ints({0, 0}))
      .Attr("padding_algorithm", String("EXPLICIT"))
      .Attr("dilations", Ints({1, 1}))
      .Attr("groups", Int(1))
      .Attr("data_format", String("NCHW"));
}

OpSchemaBuilder& DefineTransposedWindow(OpSchemaBuilder& op) {
  DefineWindow(op);
  return op.Attr("output_size", Ints({})).Attr("output_padding", Ints({}), Eras::kPaddle2);
}

// The activation that the reference's passes fold into an op (ops/fused_work.h).
OpSchemaBuilder& DefineFusedActivation(OpSchemaBuilder& op, Eras eras = Eras::kAll) {
  return op.Attr("fuse_relu", Bool(false), eras)
      .Attr("fuse_activation", String(""), eras)
      .Attr("fuse_alpha", Float(0), eras)
      .Attr("fuse_beta", Float(0), eras);
}

// Of codes (ops/int8_convolution.h).
void DefineInt8Scales(OpSchemaBuilder& op, Eras eras) {
  op.Attr("Scale_in", Float(1), eras)
      .Attr("Scale_out", Float(1), eras)
      .Attr("Scale_in_eltwise", Float(1), eras)
      .Attr("Scale_weights", Floats({1}), eras);
}

OpSchemaBuilder& DefineConvolution(OpList& ops, absl::string_view type) {
  OpSchemaBuilder& op =
      ops.Define(absl::StrCat(type, "(Input, Filter, Bias?@1, ResidualData?@1) -> (Output)"));
  DefineWindow(op);
  ProductTrait product = ProductOfForm(ProductTrait::Form::kConvolution, "Bias");
  product.own_work = ConvolutionWork;
  return op.Product(std::move(product))
      .IsOfSamples()
      .Attr("fuse_brelu", Bool(false), Eras::kFluid)
      .Attr("fuse_brelu_threshold", Float(6), Eras::kFluid)
      .Hints("is_test, use_mkldnn, use_addto@2, workspace_size_MB, exhaustive_search")
      .Attr("force_fp32_output", Bool(false))
      .Infer(InferOfCodesOrFloats)
      .QuantizableOperands(SlotRole::ACTIVATION, SlotRole::WEIGHT)
      .QuantizableInput("Bias", SlotRole::ADDEND)
      .QuantizableInput("ResidualData", SlotRole::ADDEND)
      .QuantizableOutputs({"Output"})
      .Gradient(absl::StrCat(type,
                             "_grad(Input, Filter, Bias@1, Output@GRAD) -> "
                             "(Input@GRAD, Filter@GRAD, Bias@GRAD@1)"));
}

OpSchemaBuilder& DefineTransposed(OpList& ops, absl::string_view type) {
  OpSchemaBuilder& op = ops.Define(absl::StrCat(type, "(Input, Filter, Bias?) -> (Output)"));
  ProductTrait product = ProductOfForm(ProductTrait::Form::kTransposedConvolution, "");
  product.own_work = TransposedWork;
  DefineTransposedWindow(op)
      .Product(std::move(product))
      .Hints("is_test, use_mkldnn, workspace_size_MB");
  return DefineFusedActivation(op)
      .Hints("force_fp32_output@2, mkldnn_data_type@2")
      .Infer(InferConv2dTranspose)
      .QuantizableOperands(SlotRole::ACTIVATION, SlotRole::WEIGHT)
      .QuantizableInput("Bias", SlotRole::ADDEND)
      .QuantizableOutputs({"Output"})
      .Gradient(absl::StrCat(type,
                             "_grad(Input, Filter, Bias, Output@GRAD) -> "
                             "(Input@GRAD, Filter@GRAD, Bias@GRAD@1)"));
}

}  // namespace

std::vector<OpSchema> ConvolutionOps() {
  OpList ops;
  OpSchemaBuilder& conv2d = DefineConvolution(ops, "conv2d");
  conv2d.Doc("Cross-correlation of Input [N,C,H,W] (or [N,H,W,C]) with Filter [O,C/groups,h,w].")
      .Attr("use_cudnn", Bool(false), Eras::kFluid)
      .Attr("use_cudnn", Bool(true), Eras::kPaddle2)
      .Attr("fuse_relu_before_depthwise_conv", Bool(false), Eras::kFluid)
      .Hints("use_quantizer@1");
  DefineFusedActivation(conv2d, Eras::kFluid)
      .Attr("fuse_residual_connection", Bool(false), Eras::kFluid);
  DefineInt8Scales(conv2d, Eras::kFluid);
  OpSchemaBuilder& depthwise = DefineConvolution(ops, "depthwise_conv2d");
  depthwise.Doc("conv2d with as many groups as Input has channels.")
      .Attr("fuse_relu_before_depthwise_conv", Bool(false))
      .Hints("use_cudnn, use_quantizer");
  DefineFusedActivation(depthwise).Attr("fuse_residual_connection", Bool(false));
  DefineInt8Scales(depthwise, Eras::kAll);
  depthwise.Hints("mkldnn_data_type@2");
  DefineTransposed(ops, "conv2d_transpose")
      .Doc(
          "Gradient of conv2d with respect to its input, of Input [N,C,H,W] and Filter "
          "[C,O/groups,h,w]. Entry j of Filter's axis 1 serves output channel j of every group.")
      .Attr("use_cudnn", Bool(false), Eras::kFluid)
      .Attr("use_cudnn", Bool(true), Eras::kPaddle2);
  DefineTransposed(ops, "depthwise_conv2d_transpose")
      .Doc("conv2d_transpose with as many groups as Input has channels.")
      .Hints("use_cudnn");
  OpSchemaBuilder& integers =
      ops.Define("integer_conv2d(Input, Filter, Scales, Bias?, Operands*?) -> (Output)");
  DefineWindow(integers);
  DefineProductOfCodes(integers)
      .Product(ProductOfForm(ProductTrait::Form::kConvolution, "Bias"))
      .IsOfSamples()
      .Doc(
          "conv2d of codes Input [N,C,H,W] and Filter [O,C/groups,h,w], each INT8, UINT8 or INT16: "
          "each exact sum, with that of Bias [O], INT16 or INT32, as FP32 times Scales [O], then "
          "the epilogue. A channel is one of axis 1.")
      .Infer(InferStored(InferConv2d, "Output"));
  OpSchemaBuilder& transposed =
      ops.Define("integer_conv2d_transpose(Input, Filter, Scales, Bias?, Operands*?) -> (Output)");
  DefineTransposedWindow(transposed);
  DefineProductOfCodes(transposed)
      .Product(ProductOfForm(ProductTrait::Form::kTransposedConvolution, "Bias"))
      .Doc(
          "conv2d_transpose of codes Input [N,C,H,W] and Filter [C,O/groups,h,w], each INT8 or "
          "UINT8: each exact sum, with that of Bias [O], INT16 or INT32, as FP32 times Scales [O], "
          "then the epilogue. A channel is one of axis 1.")
      .Infer(InferStored(InferConv2dTranspose, "Output"));
  return ops.Build();
}

}  // namespace fixpoint
