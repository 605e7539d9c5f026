#include "ops/recurrent_shape.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// More of them have more weights than a program lists.
constexpr int64_t kMostLayers = 1 << 16;

absl::StatusOr<RnnMode> ModeOf(const std::string& name) {
  if (name == "LSTM") return RnnMode::kLstm;
  if (name == "GRU") return RnnMode::kGru;
  if (name == "RNN_TANH") return RnnMode::kTanh;
  if (name == "RNN_RELU") return RnnMode::kRelu;
  return absl::InvalidArgumentError(
      absl::StrCat("mode is \"", name, "\"; want LSTM, GRU, RNN_TANH or RNN_RELU"));
}

absl::Status CheckWeight(const RnnShape& shape, absl::Span<const Dims> weights, int index,
                         const Dims& wanted) {
  if (weights[index] == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("WeightList ", index, " is ",
                                                 DimsText(weights[index]), "; want ",
                                                 DimsText(wanted), " for states of ", shape.width));
}

}  // namespace

Dims RnnShape::reserve_dims() const {
  const int64_t of_layer = mode == RnnMode::kLstm ? 6 : mode == RnnMode::kGru ? 4 : 1;
  return {layers - 1 + layers * of_layer, directions * rows() * width};
}

absl::StatusOr<RnnShape> RnnShapeOf(const OpAttributes& attributes, DimsView input,
                                    bool is_training) {
  RnnShape shape;
  ASSIGN_OR_RETURN(shape.mode, ModeOf(attributes.String("mode")));
  const int64_t layers = attributes.Int("num_layers");
  const int64_t width = attributes.Int("hidden_size");
  if (layers < 1 || layers > kMostLayers || width < 1) {
    return absl::InvalidArgumentError(absl::StrCat("num_layers is ", layers, " and hidden_size ",
                                                   width, "; want at least 1 of each, and at most ",
                                                   kMostLayers, " layers"));
  }
  if (input.size() != 3 || input[0] < 1 || input[1] < 1 || input[2] < 1) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input),
                                                   "; want steps, a batch and features, at least 1 "
                                                   "of each"));
  }
  shape.steps = input[0];
  shape.batch = input[1];
  shape.inputs = input[2];
  shape.width = width;
  shape.layers = static_cast<int>(layers);
  shape.directions = attributes.Bool("is_bidirec") ? 2 : 1;
  // The gates of all steps, and the weights of a layer, are the largest tensors.
  RETURN_IF_ERROR(ElementCount({layers, 16, shape.steps, shape.batch, width}).status());
  RETURN_IF_ERROR(ElementCount({layers, 16, width, width}).status());
  if (is_training && layers > 1 && attributes.Float("dropout_prob") != 0) {
    return absl::UnimplementedError(absl::StrCat("dropout_prob is ",
                                                 attributes.Float("dropout_prob"),
                                                 " in training; want 0, or one layer"));
  }
  return shape;
}

absl::Status CheckRnnInputs(const RnnShape& shape, absl::Span<const Dims> states,
                            absl::Span<const Dims> weights, const std::optional<Dims>& lengths) {
  if (static_cast<int>(states.size()) != shape.states() ||
      static_cast<int>(weights.size()) != shape.weight_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("PreState has ", states.size(), " arguments and WeightList ", weights.size(),
                     "; want ", shape.states(), " and ", shape.weight_count()));
  }
  for (const Dims& state : states) {
    RETURN_IF_ERROR(CheckStateDims("PreState", state, shape.state_dims()));
  }
  const int64_t gates = shape.gates() * shape.width;
  for (int pair = 0; pair < shape.layers * shape.directions; ++pair) {
    const int64_t inputs = shape.InputsOf(pair / shape.directions);
    RETURN_IF_ERROR(CheckWeight(shape, weights, RnnShape::InputWeight(pair), {gates, inputs}));
    RETURN_IF_ERROR(CheckWeight(shape, weights, RnnShape::StateWeight(pair), {gates, shape.width}));
    RETURN_IF_ERROR(CheckWeight(shape, weights, shape.InputBias(pair), {gates}));
    RETURN_IF_ERROR(CheckWeight(shape, weights, shape.StateBias(pair), {gates}));
  }
  if (lengths) RETURN_IF_ERROR(CheckStateDims("SequenceLength", *lengths, {shape.batch}));
  return absl::OkStatus();
}

absl::StatusOr<GatedShape> GatedShapeOf(int gates, DimsView input, DimsView weight,
                                        const std::optional<Dims>& bias, int more_biases) {
  GatedShape shape;
  if (input.size() == 2 && input[1] > 0 && input[1] % gates == 0) {
    shape.rows = input[0];
    shape.width = input[1] / gates;
  }
  const bool fits = shape.rows > 0 && weight == DimsView({shape.width, input[1]});
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(input), " and Weight ", DimsText(weight),
                     "; want [rows, ", gates, "*D] with a row or more, and [D, ", gates, "*D]"));
  }
  RETURN_IF_ERROR(ElementCount({16, shape.rows, shape.width}).status());
  if (bias) {
    RETURN_IF_ERROR(CheckStateDims("Bias", *bias, {1, (gates + more_biases) * shape.width}));
  }
  return shape;
}

absl::Status CheckStateDims(absl::string_view slot, DimsView dims, DimsView wanted) {
  if (dims == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(dims), "; want ", DimsText(wanted)));
}

}  // namespace fixpoint
