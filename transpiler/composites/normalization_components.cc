// Normalizations over axes of one tensor. The names of their components are those of
// layer_norm_components.

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kInputs[] = {"X", "Scale", "Bias"};

// `x` less its mean over the axes, divided by its deviation, as `result`.
std::string NormalizedText(absl::string_view x, const std::vector<int64_t>& axes, double epsilon,
                           absl::string_view result) {
  const std::string over = absl::StrCat("{dim=", IntegersText(axes), ", keep_dim=true}");
  return absl::Substitute(
      "  reduce_mean(X=$0) -> (Out=mean) $1\n"
      "  elementwise_sub(X=$0, Y=mean) -> (Out=centred) {axis=-1}\n"
      "  square(X=centred) -> (Out=squared)\n"
      "  reduce_mean(X=squared) -> (Out=variance) $1\n"
      "  scale(X=variance) -> (Out=above_zero) {scale=1.0, bias=$2}\n"
      "  sqrt(X=above_zero) -> (Out=deviation)\n"
      "  elementwise_div(X=centred, Y=deviation) -> (Out=$3) {axis=-1}\n",
      x, over, FloatText(epsilon), result);
}

// `x` times a scale and plus a bias, of those that the op has, as y.
std::string AffineText(const Op& op, absl::string_view x, absl::string_view scale,
                       absl::string_view bias, int axis) {
  const bool has_scale = op.Input("Scale") != nullptr;
  const bool has_bias = op.Input("Bias") != nullptr;
  std::string text;
  if (has_scale) {
    absl::StrAppend(&text, absl::Substitute("  elementwise_mul(X=$0, Y=$1) -> (Out=$2) {axis=$3}\n",
                                            x, scale, has_bias ? "scaled" : "y", axis));
  }
  if (has_bias) {
    absl::StrAppend(&text, absl::Substitute("  elementwise_add(X=$0, Y=$1) -> (Out=y) {axis=$2}\n",
                                            has_scale ? "scaled" : x, bias, axis));
  }
  return text;
}

bool IsAffine(const Op& op) { return op.Input("Scale") != nullptr || op.Input("Bias") != nullptr; }

}  // namespace

// Over all axes from begin_norm_axis on. Scale and bias are vectors, and get these axes.
ComponentsOrReason LayerNormComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "X");
  const int64_t rank = static_cast<int64_t>(dims.size());
  const int64_t begin = attributes.Int("begin_norm_axis");
  if (begin < 1 || begin >= rank) return NoComponents{"its input declares no dims of f32"};
  std::vector<int64_t> axes(rank - begin);
  std::iota(axes.begin(), axes.end(), begin);
  const bool is_last = begin == rank - 1;
  Dims of_vectors(dims.begin() + begin, dims.end());
  if (!is_last && IsAffine(op) && ElementCount(of_vectors).value_or(kUnknownDim) < 1) {
    return NoComponents{
        absl::StrCat("X ", DimsText(dims), " has an unknown extent after axis ", begin)};
  }
  Components components;
  components.before = absl::StrCat(
      VarLine("x", dims),
      absl::Substitute("  layer_norm($0) -> (Y=y) {epsilon=$1, begin_norm_axis=$2}\n",
                       InputsText(op, kInputs), FloatText(attributes.Float("epsilon")), begin));
  components.after =
      NormalizedText("x", axes, attributes.Float("epsilon"), IsAffine(op) ? "normalized" : "y");
  if (is_last) {
    absl::StrAppend(&components.after, AffineText(op, "normalized", "scale", "bias", -1));
    return components;
  }
  const std::string shape = IntegersText(of_vectors);
  for (const char* slot : {"Scale", "Bias"}) {
    if (op.Input(slot) == nullptr) continue;
    absl::StrAppend(&components.after,
                    absl::Substitute("  reshape2(X=$0) -> (Out=$0_by_axes, XShape=$0_shape) "
                                     "{shape=$1}\n",
                                     absl::AsciiStrToLower(slot), shape));
  }
  absl::StrAppend(&components.after,
                  AffineText(op, "normalized", "scale_by_axes", "bias_by_axes", -1));
  return components;
}

// Over the channels of a group and all that comes after them. Scale and bias are of channels.
ComponentsOrReason GroupNormComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "X");
  if (dims.size() < 3) return NoComponents{"its input declares no dims of f32 images"};
  if (attributes.String("data_layout") != "NCHW") {
    return NoComponents{"its data_layout is not NCHW"};
  }
  Dims shape = dims;
  shape[0] = 0;
  int unknown = 0;
  for (size_t i = 1; i < shape.size(); ++i) unknown += shape[i] < 0;
  if (dims[1] < 1 || unknown > 1) {
    return NoComponents{absl::StrCat("X ", DimsText(dims), " has unknown extents")};
  }
  const int64_t groups = attributes.Int("groups");
  Components components;
  components.before = absl::StrCat(
      VarLine("x", dims),
      absl::Substitute("  group_norm($0) -> (Y=y) {epsilon=$1, groups=$2, data_layout=\"NCHW\"}\n",
                       InputsText(op, kInputs), FloatText(attributes.Float("epsilon")), groups));
  components.after = absl::StrCat(
      absl::Substitute("  reshape2(X=x) -> (Out=grouped, XShape=grouped_shape) "
                       "{shape=[0, $0, -1]}\n",
                       groups),
      NormalizedText("grouped", {2}, attributes.Float("epsilon"), "normalized"),
      absl::Substitute("  reshape2(X=normalized) -> (Out=$0, XShape=image_shape) {shape=$1}\n",
                       IsAffine(op) ? "image" : "y", IntegersText(shape)),
      AffineText(op, "image", "scale", "bias", 1));
  return components;
}

}  // namespace fixpoint
