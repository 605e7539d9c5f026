// Normalization and dropout.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/layers.h"
#include "ops/layers/parameters.h"

namespace fixpoint {

std::string BatchNorm(ProgramBuilder& net, const std::string& x, const BatchNormOptions& options) {
  const std::vector<int64_t> dims = net.DimsOf(x);
  if (!net.status().ok()) return "";
  if (dims.size() < 2 || dims[1] < 1) {
    net.Fail(absl::InvalidArgumentError(
        absl::StrCat("BatchNorm: \"", x, "\" is ", DimsText(dims), "; want channels on axis 1")));
    return "";
  }
  const std::vector<int64_t> channels = {dims[1]};
  const std::string layer = net.UniqueName("batch_norm");
  const auto parameter = [&](const char* suffix, float value, bool is_trained) {
    return AddParameter(net, layer + suffix, channels, Initializer::Constant(value), is_trained);
  };
  const std::string scale = parameter(".w_0", 1, true);
  const std::string bias = parameter(".b_0", 0, true);
  const std::string mean = parameter(".w_1", 0, false);
  const std::string variance = parameter(".w_2", 1, false);
  OpBuilder op = net.New("batch_norm");
  op.Input("X", x)
      .Input("Scale", scale)
      .Input("Bias", bias)
      .Input("Mean", mean)
      .Input("Variance", variance)
      .Output("MeanOut", mean)
      .Output("VarianceOut", variance)
      .Output("SavedMean", net.WithoutGradient(layer + ".tmp_0"))
      .Output("SavedVariance", net.WithoutGradient(layer + ".tmp_1"))
      .FloatAttr("momentum", options.momentum)
      .FloatAttr("epsilon", options.epsilon);
  if (net.era() == Era::kPaddle2) {
    op.Output("ReserveSpace", net.DeclareTemporary(net.WithoutGradient(layer + ".tmp_3"), {-1}));
  }
  return net.AppendWithOutput(op, "Y", layer + ".tmp_2");
}

std::string LayerNorm(ProgramBuilder& net, const std::string& x, int first_axis, float epsilon) {
  const int64_t width = FlattenedSize(net, "LayerNorm", x, first_axis);
  if (!net.status().ok()) return "";
  const std::string layer = net.UniqueName("layer_norm");
  OpBuilder op = net.New("layer_norm");
  op.Input("X", x)
      .Input("Scale", AddParameter(net, layer + ".w_0", {width}, Initializer::Constant(1)))
      .Input("Bias", AddParameter(net, layer + ".b_0", {width}, Initializer::Constant(0)))
      .Output("Mean", net.WithoutGradient(layer + ".tmp_0"))
      .Output("Variance", net.WithoutGradient(layer + ".tmp_1"))
      .IntAttr("begin_norm_axis", first_axis)
      .FloatAttr("epsilon", epsilon);
  return net.AppendWithOutput(op, "Y", layer + ".tmp_2");
}

std::string Dropout(ProgramBuilder& net, const std::string& x, float probability) {
  if (!(probability >= 0 && probability < 1)) {
    net.Fail(absl::InvalidArgumentError(absl::StrCat("Dropout: \"", x, "\": probability ",
                                                     probability, "; want 0 or more, below 1")));
    return "";
  }
  const std::string layer = net.UniqueName("dropout");
  OpBuilder op = net.New("dropout");
  op.Input("X", x)
      .Output("Mask", net.WithoutGradient(layer + ".tmp_1"))
      .FloatAttr("dropout_prob", probability)
      .StringAttr("dropout_implementation", "upscale_in_train");
  return net.AppendWithOutput(op, "Out", layer + ".tmp_0");
}

}  // namespace fixpoint
