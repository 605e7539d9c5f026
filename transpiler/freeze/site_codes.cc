#include "transpiler/freeze/site_codes.h"

#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/affine_codes.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

absl::StatusOr<std::vector<float>> StoredScales(const QuantizationSite& site,
                                                const EditedParameters& trained,
                                                const QuantizerTable& quantizers) {
  if (site.axis != -1) return FindStoredScales(*site.scale, trained, quantizers);
  ASSIGN_OR_RETURN(const StoredScale stored, FindStoredScale(*site.scale, trained, quantizers));
  return std::vector<float>{stored.value};
}

}  // namespace

absl::StatusOr<AffineParams> FindStoredAffine(const QuantizationSite& site,
                                              const EditedParameters& trained,
                                              const QuantizerTable& quantizers, Era era) {
  ASSIGN_OR_RETURN(const StoredScale step, FindStoredScale(*site.scale, trained, quantizers));
  const std::optional<CodeOp> read = ReadCodeOp(*site.quantize, era);
  const Argument* const argument = read ? read->zero_point : nullptr;
  const Scope::Value* const value =
      argument != nullptr ? trained.FindOrNull(argument->name()) : nullptr;
  const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
  if (tensor == nullptr || tensor->dtype() != VarType::FP32 || tensor->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(*site.quantize),
                     ": the parameters have no zero point of one element for it"));
  }
  const float zero_point = tensor->data<float>()[0];
  if (!IsCode(zero_point, site.codes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeInFile(*site.quantize), ": ", std::string(argument->slot_name()), " holds ",
        zero_point, "; want a code, ", site.codes.smallest, " to ", site.codes.largest));
  }
  if (!std::isnormal(step.value)) {
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(*site.quantize), ": ",
                                                   std::string(site.scale->slot_name()), " holds ",
                                                   step.value, "; want a finite number above 0"));
  }
  return AffineParams{step.value, zero_point};
}

absl::StatusOr<WeightCodesOptions> CodesOptionsOf(const QuantizationSite& site,
                                                  const EditedParameters& trained,
                                                  const QuantizerTable& quantizers, Era era) {
  WeightCodesOptions options;
  options.codes = site.codes;
  options.axis = site.axis;
  if (site.is_affine && !site.is_dynamic) {
    ASSIGN_OR_RETURN(options.affine, FindStoredAffine(site, trained, quantizers, era));
  } else if (!site.is_dynamic) {
    ASSIGN_OR_RETURN(options.scales, StoredScales(site, trained, quantizers));
  } else if (site.quantizer != nullptr) {
    options.find_scale = [&site](absl::Span<const float> values) {
      return site.quantizer->Observe(site.parameters, values, /*state=*/{}, /*step=*/1);
    };
  }
  return options;
}

absl::StatusOr<WeightCodes> MakeSiteCodes(const QuantizationSite& site, const Tensor& weight,
                                          const WeightCodesOptions& options) {
  if (!site.is_affine) return MakeWeightCodes(weight, options);
  if (options.affine) return MakeStoredAffineWeightCodes(weight, options);
  QuantSpec spec = site.parameters;
  spec.set_bits(site.codes.bits);
  spec.set_scheme(QuantSpec::AFFINE);
  return MakeAffineWeightCodes(weight, options, [&](absl::Span<const float> values) {
    AffineParams params;
    const absl::Span<float> zero_point[] = {absl::MakeSpan(&params.zero_point, 1)};
    params.step = site.quantizer->Observe(spec, values, zero_point, /*step=*/1);
    return params;
  });
}

}  // namespace fixpoint
