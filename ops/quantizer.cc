#include "ops/quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"

namespace fixpoint {

double Parameter(const Quantizer& quantizer, const QuantSpec& spec, absl::string_view name) {
  const auto it = spec.parameters().find(std::string(name));
  if (it != spec.parameters().end()) return it->second;
  for (const QuantizerParameter& parameter : quantizer.parameters()) {
    if (parameter.name == name) return parameter.default_value;
  }
  return 0;
}

std::string Quantizer::GradientOf(const QuantizerState& state) {
  return state.name + kGradientSuffix;
}

bool Quantizer::has_own_gradient() const {
  for (const QuantizerRecipe& recipe : recipes()) {
    for (const QuantizerState& state : recipe.state) {
      if (state.is_trained) return true;
    }
  }
  return false;
}

double Quantizer::ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                               float max) const {
  return state.is_scale ? std::max(std::fabs(min), std::fabs(max)) : InitialValue(state, spec);
}

namespace {

template <typename... Parts>
absl::Status Wrong(const Quantizer& quantizer, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("quantizer ", quantizer.name(), ": ", parts...));
}

absl::Status CheckParameter(const Quantizer& quantizer, const std::string& name, double value) {
  const auto parameters = quantizer.parameters();
  const auto parameter =
      std::find_if(parameters.begin(), parameters.end(),
                   [&name](const QuantizerParameter& known) { return known.name == name; });
  if (parameter == parameters.end()) {
    const std::string known = absl::StrJoin(
        parameters, ", ",
        [](std::string* out, const QuantizerParameter& p) { absl::StrAppend(out, p.name); });
    return Wrong(quantizer, "there is no parameter \"", name, "\"; it has ",
                 known.empty() ? "none" : known);
  }
  if (!(value >= parameter->min && value <= parameter->max)) {
    return Wrong(quantizer, name, " is ", value, "; it goes from ", parameter->min, " to ",
                 parameter->max);
  }
  if (parameter->is_integer && value != std::floor(value)) {
    return Wrong(quantizer, name, " is ", value, "; want an integer");
  }
  return absl::OkStatus();
}

// The attribute bit_length of a recipe's op, if it has one.
std::optional<int64_t> BitLengthOfOp(const Quantizer& quantizer, const QuantizerRecipe& recipe,
                                     const QuantSpec& spec) {
  OpBuilder op(recipe.quantize_op);
  quantizer.AddQuantizeAttrs(spec, Era::kPaddle2, op);
  return IntAttr(op.op(), "bit_length");
}

// The codes that are stored may have more bits than the spec's.
absl::Status CheckBitsOfOps(const Quantizer& quantizer, const QuantSpec& spec) {
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    const std::optional<int64_t> bits = BitLengthOfOp(quantizer, recipe, spec);
    if (!bits.has_value() || AreBits(*bits)) continue;
    return Wrong(quantizer, "of ", spec.bits(), " bits it stores codes of ", *bits,
                 "; these go from ", kLeastBits, " to ", kMostBits);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSpec(const Quantizer& quantizer, const QuantSpec& spec) {
  const int least = quantizer.least_bits();
  const int most = quantizer.most_bits();
  if (spec.bits() < least || spec.bits() > most) {
    return Wrong(quantizer, "bits is ", spec.bits(),
                 least == most ? absl::StrCat("; want ", least)
                               : absl::StrCat("; it goes from ", least, " to ", most));
  }
  if (spec.bits() == kMostBits && spec.signedness() == QuantSpec::UNSIGNED) {
    return Wrong(quantizer, kMostBits, " bits are signed; unsigned codes have at most ",
                 kMostBits - 1);
  }
  if (spec.granularity() != quantizer.granularity()) {
    return Wrong(quantizer, "granularity is ", QuantSpec::Granularity_Name(spec.granularity()),
                 "; it computes ", QuantSpec::Granularity_Name(quantizer.granularity()));
  }
  if (spec.scheme() != quantizer.scheme()) {
    return Wrong(quantizer, "scheme is ", QuantSpec::Scheme_Name(spec.scheme()), "; it computes ",
                 QuantSpec::Scheme_Name(quantizer.scheme()));
  }
  if (!(spec.percentile() > 0 && spec.percentile() <= 100)) {
    return Wrong(quantizer, "percentile is ", spec.percentile(),
                 "; want more than 0 and at most 100");
  }
  for (const auto& [name, value] : spec.parameters()) {
    if (absl::Status status = CheckParameter(quantizer, name, value); !status.ok()) return status;
  }
  return CheckBitsOfOps(quantizer, spec);
}

QuantSpec StoredSpec(const Quantizer& quantizer, QuantSpec spec) {
  if (spec.scheme() != QuantSpec::SYMMETRIC) return spec;
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (recipe.form != spec.form()) continue;
    const std::optional<int64_t> length = BitLengthOfOp(quantizer, recipe, spec);
    if (length.has_value()) {
      spec.set_bits(spec.bits() + static_cast<int>(*length) - BitLength(spec));
    }
    break;
  }
  return spec;
}

const QuantizerRecipe* FindRecipe(const Quantizer& quantizer, const QuantSpec& spec, Era era) {
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (recipe.form == spec.form() && Includes(recipe.eras, era)) return &recipe;
  }
  return nullptr;
}

const QuantizerRecipe* FindObserver(const Quantizer& quantizer, Era program, Era target) {
  const Era era = program == Era::kFluid ? Era::kFluid : target;
  for (const QuantizerRecipe& recipe : quantizer.observers()) {
    if (Includes(recipe.eras, era)) return &recipe;
  }
  return nullptr;
}

}  // namespace fixpoint
