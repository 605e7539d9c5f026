#include "ops/fused_work.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// The function that fuse_activation names.
absl::StatusOr<Activation> ActivationOfName(const std::string& name, float alpha) {
  if (name == "relu") return Activation{ActivationFunction::kRelu};
  if (name == "relu6") return Activation{ActivationFunction::kClip, 0, alpha};
  if (name == "leaky_relu") return Activation{ActivationFunction::kLeakyRelu, alpha};
  if (name == "swish") return Activation{ActivationFunction::kSwish, alpha};
  if (name == "sigmoid") return Activation{ActivationFunction::kSigmoid};
  if (name == "tanh") return Activation{ActivationFunction::kTanh};
  return absl::UnimplementedError(absl::StrCat(
      "fuse_activation is \"", name,
      "\"; want relu, relu6, leaky_relu, swish, sigmoid, tanh, or the activation as an op"));
}

}  // namespace

const Argument* FindGivenInput(const Op& op, absl::string_view slot) {
  const Argument* const argument = op.Input(slot);
  return argument != nullptr && argument->variable() != nullptr ? argument : nullptr;
}

absl::StatusOr<FusedWork> FusedWorkOf(const Op& op, const OpAttributes& attributes) {
  if (attributes.Bool("fuse_relu_before_depthwise_conv")) {
    return absl::UnimplementedError("fuse_relu_before_depthwise_conv is true; want false");
  }
  FusedWork work;
  work.adds_bias = FindGivenInput(op, "Bias") != nullptr;
  work.adds_residual = attributes.Bool("fuse_residual_connection");
  if (work.adds_residual != (FindGivenInput(op, "ResidualData") != nullptr)) {
    return absl::UnimplementedError(
        absl::StrCat("fuse_residual_connection is ", work.adds_residual ? "true" : "false",
                     " and input ResidualData is ", work.adds_residual ? "absent" : "there",
                     "; want both or neither"));
  }
  std::vector<Activation> activations;
  const std::string named = attributes.String("fuse_activation");
  // The passes of 1.6 wrote both.
  if (attributes.Bool("fuse_relu") && named != "relu") {
    activations.push_back({ActivationFunction::kRelu});
  }
  if (attributes.Bool("fuse_brelu")) {
    const auto threshold = static_cast<float>(attributes.Float("fuse_brelu_threshold"));
    activations.push_back({ActivationFunction::kClip, 0, threshold});
  }
  if (!named.empty()) {
    const auto alpha = static_cast<float>(attributes.Float("fuse_alpha"));
    ASSIGN_OR_RETURN(const Activation activation, ActivationOfName(named, alpha));
    activations.push_back(activation);
  }
  if (activations.size() > 1) {
    return absl::UnimplementedError(
        "more than one of fuse_relu, fuse_brelu and fuse_activation is set; want one");
  }
  if (!activations.empty()) work.activation = activations.front();
  return work;
}

absl::Status CheckMatmulAlone(const OpAttributes& attributes) {
  if (attributes.Int("head_number") == 1 && attributes.Ints("fused_reshape_Out").empty() &&
      attributes.Ints("fused_transpose_Out").empty()) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      "a reshape, a transpose or heads are fused; want a product alone");
}

absl::Status CheckNothingFused(const Op& op) {
  for (const char* slot : {"Bias", "ResidualData"}) {
    if (FindGivenInput(op, slot) != nullptr) {
      return absl::UnimplementedError(absl::StrCat("input ", slot, " is there; want it absent"));
    }
  }
  const std::optional<std::string> attribute = FindFusedAttribute(op.desc());
  if (!attribute) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("attribute ", *attribute, "; want the op alone, and that as an op of its own"));
}

}  // namespace fixpoint
