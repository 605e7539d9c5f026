#include "transpiler/plan/gradient_sites.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/codes/coded_gradients.h"
#include "ops/codes/coded_product.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/forward_ops.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quantizer.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/site_facts.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/unknown_quantizer.h"

namespace fixpoint {
namespace {

constexpr char kDefaultQuantizer[] = "stochastic_abs_max";
constexpr int kDefaultBits = 8;

// Why a gradient stays float; nothing: it can be quantized.
std::optional<std::string> WhyFloat(const Argument& read) {
  const Value* const value = read.value();
  if (value == nullptr || value->origin() != Value::Origin::kWrite) {
    return "no op of its block writes it";
  }
  const VarDesc* const desc = value->variable().desc();
  const VarType::TensorDesc* const tensor = value->variable().tensor();
  const bool is_float = desc != nullptr && desc->type().type() == VarType::LOD_TENSOR &&
                        tensor != nullptr && tensor->data_type() == VarType::FP32;
  return is_float ? std::nullopt : std::optional<std::string>("it is not a tensor of type FP32");
}

// Codes that products multiply, or why a factor is not held as codes.
struct Factor {
  OperandCodes codes;
  std::optional<IntegerReason> why_not;
};

Factor FactorOf(const OperandOrReason& operand) {
  if (const auto* const why = std::get_if<IntegerReason>(&operand)) return {{}, *why};
  return {std::get<CodedOperand>(operand).codes, std::nullopt};
}

// Whether sums of products of two factors are computed on integers.
IntegerReason ReasonOf(const Factor& left, const Factor& right) {
  if (left.why_not) return *left.why_not;
  if (right.why_not) return *right.why_not;
  return WhyNotOnIntegers({left.codes, right.codes}).value_or(IntegerReason::kOnIntegers);
}

// "X@GRAD on_integers, Y@GRAD granularity": of a product whose result's gradient has the spec.
std::string SumsText(const Op& product, const QuantSpec& spec, const SiteFacts& facts,
                     const GradientPlanning& planning) {
  const ProductTrait& trait = *TraitsOf(product).product;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(product.desc(), planning.era);
  const Argument* const x = product.Input(trait.activation);
  const Argument* const y = product.Input(trait.weight);
  IntegerReason of_x = IntegerReason::kNoRule;
  IntegerReason of_y = IntegerReason::kNoRule;
  const bool is_of_volumes = y != nullptr && DeclaredDims(*y).size() == 5;
  if (attributes && x != nullptr && y != nullptr && !is_of_volumes &&
      trait.form != ProductTrait::Form::kTransposedConvolution) {
    const auto says = [&](const std::string& attribute) {
      return !attribute.empty() && attributes->Bool(attribute);
    };
    Factor gradient;
    if (!FitByte(CodeRangeOf(spec))) gradient.why_not = IntegerReason::kTooManyBits;
    const Factor left = FactorOf(OperandOfSite(*x, facts, planning.quantizers));
    const Factor right = FactorOf(OperandOfSite(*y, facts, planning.quantizers));
    of_x =
        says(trait.transposes_activation) ? ReasonOf(right, gradient) : ReasonOf(gradient, right);
    of_y = says(trait.transposes_weight) ? ReasonOf(gradient, left) : ReasonOf(left, gradient);
    if (trait.gives_images() && attributes->Int("groups") != 1) {
      of_y = IntegerReason::kAttributes;
    }
  }
  return absl::StrCat(trait.activation, kGradientSuffix, " ", IntegerReasonCode(of_x), ", ",
                      trait.weight, kGradientSuffix, " ", IntegerReasonCode(of_y));
}

void AddRemark(const std::string& remark, Decision& decision) {
  absl::StrAppend(&decision.detail, decision.detail.empty() ? "" : ", ", remark);
}

}  // namespace

QuantSpec CompleteGradientSpec(const QuantSpec& asked, const QuantizerTable& quantizers) {
  QuantSpec spec = asked;
  if (!spec.has_quantizer()) spec.set_quantizer(kDefaultQuantizer);
  if (!spec.has_bits()) spec.set_bits(kDefaultBits);
  if (!spec.has_signedness()) spec.set_signedness(QuantSpec::SIGNED);
  if (!spec.has_rounding()) spec.set_rounding(QuantSpec::HALF_AWAY_FROM_ZERO);
  if (!spec.has_form()) spec.set_form(QuantSpec::FUSED);
  if (const Quantizer* const quantizer = quantizers.Find(spec.quantizer()); quantizer != nullptr) {
    if (!spec.has_granularity()) spec.set_granularity(quantizer->granularity());
    if (!spec.has_scheme()) spec.set_scheme(quantizer->scheme());
  }
  return spec;
}

absl::Status CheckGradientSpec(const QuantSpec& spec, const Target& target,
                               const QuantizerTable& quantizers) {
  const Quantizer* const quantizer = quantizers.Find(spec.quantizer());
  if (quantizer == nullptr) {
    return absl::InvalidArgumentError(UnknownQuantizer(spec.quantizer(), quantizers));
  }
  RETURN_IF_ERROR(CheckSpec(*quantizer, spec));
  if (spec.signedness() != QuantSpec::SIGNED || spec.granularity() != QuantSpec::PER_TENSOR) {
    return absl::InvalidArgumentError("codes of gradients are SIGNED, with one scale: PER_TENSOR");
  }
  const Era era = EraOf(target);
  const QuantizerRecipe* const recipe = FindRecipe(*quantizer, spec, era);
  if (recipe == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("target ", target.name(), ": quantizer ", quantizer->name(), " has no ",
                     QuantSpec::Form_Name(spec.form()), " form in its era"));
  }
  const QuantizerUse use{spec, SlotRole::ACTIVATION, std::nullopt, era};
  if (!quantizer->is_dynamic() || !recipe->state.empty() || quantizer->has_own_gradient() ||
      !quantizer->Forward(use).ops.empty() || !quantizer->SummaryOps(spec, era).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("quantizer ", quantizer->name(),
                     " is not for gradients; want one that finds the range anew from each tensor, "
                     "in its own op, such as ",
                     kDefaultQuantizer));
  }
  if (AbilitiesOf(target, SlotRole::ACTIVATION).reference_ops_only() &&
      !recipe->reference_runs_it) {
    return absl::FailedPreconditionError(absl::StrCat("target ", target.name(), ": quantizer ",
                                                      quantizer->name(),
                                                      " is not among the reference's ops"));
  }
  return absl::OkStatus();
}

void PlanGradients(const QuantSpec& spec, const GradientPlanning& planning) {
  Plan& plan = planning.plan;
  absl::flat_hash_map<const Op*, std::string> sums;
  {
    const SiteFacts facts(plan, planning.era, &planning.types);
    for (const Decision& decision : plan.decisions) {
      if (!decision.quantized || !TraitsOf(*decision.op).product) continue;
      sums.emplace(decision.op, SumsText(*decision.op, spec, facts, planning));
    }
  }
  absl::flat_hash_map<const Value*, size_t> places;
  for (Decision& decision : plan.decisions) {
    const auto of_product = sums.find(decision.op);
    if (of_product == sums.end()) continue;
    const std::string slot = absl::StrCat(TraitsOf(*decision.op).product->output, kGradientSuffix);
    for (const Op* const gradient : planning.links.GradientsOf(*decision.op)) {
      if (ForwardTypeOf(gradient->type()) != decision.op->type()) continue;
      for (const Argument* const read : gradient->Inputs(slot)) {
        if (const std::optional<std::string> why = WhyFloat(*read)) {
          AddRemark(absl::StrCat(read->name(), " stays float: ", *why), decision);
          continue;
        }
        const auto [place, is_new] = places.try_emplace(read->value(), plan.sites.size());
        if (is_new) {
          Site site;
          site.value = read->value();
          site.spec = spec;
          planning.sites.Add(std::move(site));
        }
        plan.sites[place->second].gradient_readers.push_back(read);
        AddRemark(absl::StrCat(read->name(), " is quantized: ", of_product->second), decision);
      }
    }
  }
}

}  // namespace fixpoint
