#include "ops/int8_convolution.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/bias_codes.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/fused_work.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

absl::StatusOr<float> ScaleOf(const OpAttributes& attributes, absl::string_view name) {
  const auto scale = static_cast<float>(attributes.Float(name));
  if (scale != 0 && std::isfinite(scale)) return scale;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", scale, "; want a finite number other than 0"));
}

// What is multiplied, made of scales. Error (kInvalidArgument): it is not finite.
absl::StatusOr<float> QuotientOf(absl::string_view name, double quotient) {
  const auto rounded = static_cast<float>(quotient);
  if (std::isfinite(rounded)) return rounded;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", rounded, "; want scales whose quotients are finite"));
}

absl::StatusOr<std::vector<float>> FilterScalesOf(const OpAttributes& attributes, int64_t filters) {
  const std::vector<double> given = attributes.Floats("Scale_weights");
  const auto count = static_cast<int64_t>(given.size());
  if (count != 1 && count != filters) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Scale_weights has ", count, " values; want 1, or ", filters, ", one for each filter"));
  }
  std::vector<float> scales;
  for (int64_t o = 0; o < filters; ++o) {
    scales.push_back(static_cast<float>(given[count == 1 ? 0 : o]));
    if (std::isfinite(scales.back())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Scale_weights has ", scales.back(), "; want finite numbers"));
  }
  return scales;
}

absl::StatusOr<EpilogueStage> StageOf(const Activation& activation) {
  switch (activation.function) {
    case ActivationFunction::kRelu:
      return EpilogueStage{Kind::kRelu};
    case ActivationFunction::kClip:
      return EpilogueStage{Kind::kClip, activation.a, activation.b};
    case ActivationFunction::kLeakyRelu:
      return EpilogueStage{Kind::kLeakyRelu, activation.a};
    default:
      return absl::UnimplementedError(
          "Input is codes, and fuse_activation neither relu, relu6 nor leaky_relu; want one of "
          "them, or the activation as an op");
  }
}

absl::StatusOr<EpilogueStage> ResidualStage(VarType::Type residual, float scale) {
  if (IsCodeDtype(residual)) {
    return EpilogueStage::AddCodes(IsUnsignedDtype(residual), scale, /*zero_point=*/0);
  }
  if (scale == 1) return EpilogueStage{Kind::kAddElement};
  return absl::UnimplementedError(
      absl::StrCat("ResidualData is floats, which are to be multiplied by ", scale,
                   "; want i8 or u8, or Scale_in_eltwise 1 with force_fp32_output"));
}

}  // namespace

void Int8Convolution::FillFilterCodes(absl::Span<const float> filter,
                                      absl::Span<int8_t> codes) const {
  constexpr CodeRange kCodes = CodesOfByte(/*is_unsigned=*/false);
  const auto smallest = static_cast<float>(kCodes.smallest);
  const auto largest = static_cast<float>(kCodes.largest);
  if (filter.empty()) return;
  const size_t taps = filter.size() / filter_scales.size();
  for (size_t i = 0; i < filter.size(); ++i) {
    const float code = RoundHalfToEven(filter[i] * filter_scales[i / taps]);
    codes[i] = static_cast<int8_t>(code > smallest ? std::min(code, largest) : smallest);
  }
}

int32_t Int8Convolution::BiasCode(float bias, int64_t o) const {
  constexpr auto kLargest = static_cast<float>(kLargestBiasCode);
  const float code = RoundHalfToEven(bias * bias_scales[o]);
  return static_cast<int32_t>(code > -kLargest ? std::min(code, kLargest) : -kLargest);
}

absl::StatusOr<Int8Convolution> ReadInt8Convolution(const Op& op, const OpAttributes& attributes,
                                                    int64_t filters,
                                                    std::optional<VarType::Type> residual) {
  ASSIGN_OR_RETURN(const FusedWork work, FusedWorkOf(op, attributes));
  ASSIGN_OR_RETURN(const float in, ScaleOf(attributes, "Scale_in"));
  ASSIGN_OR_RETURN(const float out, ScaleOf(attributes, "Scale_out"));
  Int8Convolution read;
  read.dtype = Int8ConvolutionDtype(attributes, residual);
  read.adds_bias = work.adds_bias;
  read.adds_residual = work.adds_residual;
  ASSIGN_OR_RETURN(read.filter_scales, FilterScalesOf(attributes, filters));
  const bool gives_floats = attributes.Bool("force_fp32_output");
  const float of_sums = gives_floats || work.activation ? 1 : out;
  for (const float of_filter : read.filter_scales) {
    read.bias_scales.push_back(in * of_filter);
    const double of_sum = of_filter == 0 ? of_sums : double{of_sums} / (double{in} * of_filter);
    ASSIGN_OR_RETURN(const float sum_scale,
                     QuotientOf("Scale_out / (Scale_in * Scale_weights)", of_sum));
    read.sum_scales.push_back(sum_scale);
  }
  if (work.adds_residual) {
    ASSIGN_OR_RETURN(const float of_residual, ScaleOf(attributes, "Scale_in_eltwise"));
    ASSIGN_OR_RETURN(const float factor,
                     QuotientOf("Scale_out / Scale_in_eltwise", double{of_sums} / of_residual));
    ASSIGN_OR_RETURN(const EpilogueStage stage,
                     ResidualStage(residual.value_or(VarType::FP32), factor));
    read.epilogue.push_back(stage);
  }
  if (work.activation) {
    ASSIGN_OR_RETURN(const EpilogueStage stage, StageOf(*work.activation));
    read.epilogue.push_back(stage);
    if (!gives_floats && out != 1) read.epilogue.push_back({Kind::kMultiply, out});
  }
  return read;
}

}  // namespace fixpoint
