// Convolutions and products with a weight.

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/layers.h"
#include "ops/layers/parameters.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks".
Initializer Xavier(int64_t in, int64_t out) {
  const float limit =
      static_cast<float>(std::sqrt(6.0 / (static_cast<double>(in) + static_cast<double>(out))));
  return Initializer::Uniform(-limit, limit);
}

// The channels C of x [N,C,H,W]. 0 after an error (kInvalidArgument): x is something else, or the
// groups do not divide C.
int64_t ChannelsOf(ProgramBuilder& net, absl::string_view layer, const std::string& x, int groups) {
  const std::vector<int64_t> dims = net.DimsOf(x);
  if (!net.status().ok()) return 0;
  if (dims.size() == 4 && dims[1] >= 1 && groups >= 1 && dims[1] % groups == 0) return dims[1];
  net.Fail(absl::InvalidArgumentError(absl::StrCat(layer, ": \"", x, "\" is ", DimsText(dims),
                                                   "; want [N,C,H,W] with C a multiple of the ",
                                                   groups, " groups")));
  return 0;
}

// The op of a convolution, with what both directions share.
OpBuilder NewConvolution(ProgramBuilder& net, absl::string_view type, const std::string& x,
                         const std::string& filter, const Conv2dOptions& options) {
  OpBuilder op = net.New(type);
  op.Input("Input", x)
      .Input("Filter", filter)
      .IntsAttr("strides", {options.stride, options.stride})
      .IntsAttr("paddings", {options.padding, options.padding})
      .IntsAttr("dilations", {options.dilation, options.dilation})
      .IntAttr("groups", options.groups);
  return op;
}

}  // namespace

std::string Conv2d(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                   const Conv2dOptions& options) {
  const int64_t channels = ChannelsOf(net, "Conv2d", x, options.groups);
  if (!net.status().ok()) return "";
  const std::string layer = net.UniqueName("conv2d");
  const double fan_in = static_cast<double>(kernel) * kernel * static_cast<double>(channels);
  const std::string filter =
      AddParameter(net, layer + ".w_0", {filters, channels / options.groups, kernel, kernel},
                   Initializer::Normal(0, static_cast<float>(std::sqrt(2.0 / fan_in))));
  const bool is_depthwise =
      options.groups > 1 && options.groups == channels && filters % channels == 0;
  OpBuilder op =
      NewConvolution(net, is_depthwise ? "depthwise_conv2d" : "conv2d", x, filter, options);
  op.BoolAttr("use_cudnn", !is_depthwise);
  const std::string out = net.AppendWithOutput(op, "Output", layer + ".tmp_0");
  return options.bias ? AddBias(net, out, layer, filters, 1) : out;
}

std::string Conv2dTranspose(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                            const Conv2dOptions& options) {
  const int64_t channels = ChannelsOf(net, "Conv2dTranspose", x, options.groups);
  if (!net.status().ok()) return "";
  if (filters % options.groups != 0) {
    net.Fail(
        absl::InvalidArgumentError(absl::StrCat("Conv2dTranspose: ", filters, " filters in ",
                                                options.groups, " groups; want as many in each")));
    return "";
  }
  const std::string layer = net.UniqueName("conv2d_transpose");
  const int64_t taps = static_cast<int64_t>(kernel) * kernel;
  const int64_t of_group = filters / options.groups;
  const std::string filter = AddParameter(net, layer + ".w_0", {channels, of_group, kernel, kernel},
                                          Xavier(of_group * taps, channels * taps));
  OpBuilder op = NewConvolution(net, "conv2d_transpose", x, filter, options);
  op.BoolAttr("use_cudnn", true);
  const std::string out = net.AppendWithOutput(op, "Output", layer + ".tmp_0");
  return options.bias ? AddBias(net, out, layer, filters, 1) : out;
}

std::string Fc(ProgramBuilder& net, const std::string& x, int units, int first_axis, bool bias) {
  const int64_t in = FlattenedSize(net, "Fc", x, first_axis);
  if (!net.status().ok()) return "";
  const std::string layer = net.UniqueName("fc");
  const std::string weight = AddParameter(net, layer + ".w_0", {in, units}, Xavier(in, units));
  const std::string out = net.AppendWithOutput(
      net.New("mul").Input("X", x).Input("Y", weight).IntAttr("x_num_col_dims", first_axis), "Out",
      layer + ".tmp_0");
  return bias ? AddBias(net, out, layer, units, first_axis) : out;
}

std::string Embedding(ProgramBuilder& net, const std::string& ids, int size, int width,
                      int64_t padding) {
  const std::string layer = net.UniqueName("embedding");
  const std::string table = AddParameter(net, layer + ".w_0", {size, width}, Xavier(size, width));
  OpBuilder op = net.New("lookup_table_v2");
  op.Input("W", table).Input("Ids", ids).Attr(MakeLongAttr("padding_idx", padding));
  return net.AppendWithOutput(op, "Out", layer + ".tmp_0");
}

std::string Matmul(ProgramBuilder& net, const std::string& x, const std::string& y,
                   bool transpose_x, bool transpose_y) {
  OpBuilder op = net.New(net.era() == Era::kPaddle2 ? "matmul_v2" : "matmul");
  op.Input("X", x).Input("Y", y);
  if (net.era() == Era::kPaddle2) {
    op.BoolAttr("trans_x", transpose_x).BoolAttr("trans_y", transpose_y);
  } else {
    op.BoolAttr("transpose_X", transpose_x).BoolAttr("transpose_Y", transpose_y);
  }
  return net.AppendWithOutput(op, "Out", net.UniqueName("matmul") + ".tmp_0");
}

}  // namespace fixpoint
