// Convolution of volumes, and the transposed one.

#include "absl/strings/str_cat.h"
#include "ops/fused_work.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/window_axes.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

constexpr int kAxes = 3;

// A volume and the filter that slides over it.
struct Geometry {
  int channel_axis;
  int first_axis;  // of the places
  int64_t groups;
  WindowAxes window;
};

absl::StatusOr<Geometry> ReadGeometry(InferContext& op, const TensorInfo& input,
                                      const TensorInfo& filter) {
  for (const auto& [slot, tensor] : {std::pair("Input", &input), std::pair("Filter", &filter)}) {
    if (tensor->rank() == kAxes + 2) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(tensor->dims), "; want 5 dimensions"));
  }
  Geometry geometry;
  const bool channels_last = AreChannelsLast(op.String("data_format"));
  geometry.channel_axis = channels_last ? kAxes + 1 : 1;
  geometry.first_axis = channels_last ? 1 : 2;
  ASSIGN_OR_RETURN(geometry.groups, PositiveAttr(op, "groups"));
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          op.String("padding_algorithm")};
  ASSIGN_OR_RETURN(geometry.window, MakeWindowAxes(attrs, filter.dims.subspan(2),
                                                   input.dims.subspan(geometry.first_axis, kAxes)));
  return geometry;
}

absl::StatusOr<int64_t> TimesGroups(int64_t channels, int64_t groups) {
  int64_t product;
  if (channels < 0) return kUnknownDim;
  if (!__builtin_mul_overflow(channels, groups, &product)) return product;
  return absl::InvalidArgumentError(
      absl::StrCat(groups, " groups of ", channels, " channels are more than an int64 holds"));
}

absl::Status CheckChannels(const TensorInfo& input, const TensorInfo& filter,
                           const Geometry& geometry, int64_t read) {
  if (MayBeEqual(read, input.dims[geometry.channel_axis])) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Filter ", DimsText(filter.dims), " with ", geometry.groups, " groups reads ", read,
      " channels; Input ", DimsText(input.dims), " has ", input.dims[geometry.channel_axis]));
}

absl::Status InferConv3d(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Output", input.dtype, std::nullopt);
  if (!input.has_dims() || !filter.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Geometry geometry, ReadGeometry(op, input, filter));
  ASSIGN_OR_RETURN(const int64_t channels, TimesGroups(filter.dims[1], geometry.groups));
  RETURN_IF_ERROR(CheckChannels(input, filter, geometry, channels));
  if (filter.dims[0] > 0 && filter.dims[0] % geometry.groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("Filter makes ", filter.dims[0],
                                                   " channels; want a multiple of the ",
                                                   geometry.groups, " groups"));
  }
  Dims out(input.dims.begin(), input.dims.end());
  out[geometry.channel_axis] = filter.dims[0];
  for (int i = 0; i < kAxes; ++i) {
    int64_t& size = out[geometry.first_axis + i];
    ASSIGN_OR_RETURN(size, WindowCount(size, geometry.window[i]));
  }
  op.SetOutput("Output", input.dtype, out);
  return absl::OkStatus();
}

// What `output_size` or `output_padding` make of the size that the formula gives.
absl::StatusOr<int64_t> ChosenSize(int64_t made, int64_t stride, int i,
                                   const std::vector<int64_t>& output_size,
                                   const std::vector<int64_t>& output_padding) {
  if (made < 0) return kUnknownDim;
  int64_t more = 0;
  if (!output_size.empty()) {
    if (__builtin_sub_overflow(output_size[i], made, &more)) more = -1;
  } else if (!output_padding.empty()) {
    more = output_padding[i];
  }
  int64_t size;
  if (more >= 0 && more < stride && !__builtin_add_overflow(made, more, &size)) return size;
  return absl::InvalidArgumentError(absl::StrCat("the output's size is to be ", more, " more than ",
                                                 made, "; want less than a stride, ", stride,
                                                 ", and not below 0"));
}

absl::Status InferConv3dTranspose(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Output", input.dtype, std::nullopt);
  if (!input.has_dims() || !filter.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Geometry geometry, ReadGeometry(op, input, filter));
  RETURN_IF_ERROR(CheckChannels(input, filter, geometry, filter.dims[0]));
  const std::vector<int64_t> output_size = op.Ints("output_size");
  const std::vector<int64_t> output_padding = op.Ints("output_padding");
  for (const auto* values : {&output_size, &output_padding}) {
    if (values->empty() || values->size() == kAxes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(values == &output_size ? "output_size" : "output_padding", " has ",
                     values->size(), " values; want 3 or none"));
  }
  Dims out(input.dims.begin(), input.dims.end());
  ASSIGN_OR_RETURN(out[geometry.channel_axis], TimesGroups(filter.dims[1], geometry.groups));
  for (int i = 0; i < kAxes; ++i) {
    int64_t& size = out[geometry.first_axis + i];
    ASSIGN_OR_RETURN(const int64_t made, TransposedSize(size, geometry.window[i]));
    ASSIGN_OR_RETURN(size,
                     ChosenSize(made, geometry.window[i].stride, i, output_size, output_padding));
  }
  op.SetOutput("Output", input.dtype, out);
  return absl::OkStatus();
}

absl::StatusOr<OwnWork> NoWork(const Op& op, const OpAttributes& /*attributes*/) {
  RETURN_IF_ERROR(CheckNothingFused(op));
  return OwnWork();
}

OpSchemaBuilder& DefineVolumes(OpList& ops, absl::string_view signature, ProductTrait::Form form) {
  ProductTrait product;
  product.form = form;
  product.activation = "Input";
  product.weight = "Filter";
  product.output = "Output";
  product.data_format = "data_format";
  product.own_work = NoWork;
  return ops.Define(signature)
      .Product(std::move(product))
      .Attr("strides", Ints({1, 1, 1}))
      .Attr("paddings", Ints({0, 0, 0}))
      .Attr("padding_algorithm", String("EXPLICIT"))
      .Attr("dilations", Ints({1, 1, 1}))
      .Attr("groups", Int(1))
      .Attr("use_cudnn", Bool(false), Eras::kFluid)
      .Attr("use_cudnn", Bool(true), Eras::kPaddle2)
      .Hints("use_mkldnn, workspace_size_MB")
      .QuantizableOperands(SlotRole::ACTIVATION, SlotRole::WEIGHT)
      .QuantizableOutputs({"Output"});
}

}  // namespace

std::vector<OpSchema> VolumesOps() {
  OpList ops;
  DefineVolumes(ops, "conv3d(Input, Filter, ResidualData?@1) -> (Output)",
                ProductTrait::Form::kConvolution)
      .Doc("Cross-correlation of Input [N,C,D,H,W] (or NDHWC) with Filter [O,C/groups,d,h,w].")
      .IsOfSamples()
      .Attr("data_format", String("NCDHW"))
      .Attr("fuse_relu", Bool(false))
      .Attr("fuse_activation", String(""))
      .Attr("fuse_alpha", Float(0))
      .Attr("fuse_beta", Float(0))
      .Attr("fuse_residual_connection", Bool(false))
      .Hints("is_test, exhaustive_search, force_fp32_output, use_addto@2, mkldnn_data_type@2")
      .Infer(InferConv3d)
      .Gradient("conv3d_grad(Input, Filter, Output@GRAD) -> (Input@GRAD, Filter@GRAD)");
  DefineVolumes(ops, "conv3d_transpose(Input, Filter) -> (Output)",
                ProductTrait::Form::kTransposedConvolution)
      .Doc(
          "Gradient of conv3d with respect to its input, of Input [N,C,D,H,W] (or NDHWC) and "
          "Filter [C,O/groups,d,h,w].")
      .Attr("data_format", String("NCHW"))
      .Attr("output_size", Ints({}))
      .Attr("output_padding", Ints({}), Eras::kPaddle2)
      .Infer(InferConv3dTranspose)
      .Gradient("conv3d_transpose_grad(Input, Filter, Output@GRAD) -> (Input@GRAD, Filter@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
