// Whether a target can do what a quantizer is told to.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "proto/base/status_macros.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

template <typename... Parts>
absl::Status Cannot(const Target& target, const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat("target ", target.name(), ": ", parts...));
}

// Whether a list of allowed values has an entry; an empty one allows all.
template <typename List, typename Item>
bool Allows(const List& list, const Item& wanted) {
  return list.empty() || std::find(list.begin(), list.end(), wanted) != list.end();
}

template <typename List, typename Name>
std::string Names(const List& list, Name name) {
  return absl::StrJoin(list, ", ", [&name](std::string* out, const auto& item) {
    absl::StrAppend(out, name(item));
  });
}

// The forms of a quantizer in an era.
std::string FormsOf(const Quantizer& quantizer, Era era) {
  std::vector<std::string> forms;
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (Includes(recipe.eras, era)) forms.push_back(QuantSpec::Form_Name(recipe.form));
  }
  return forms.empty() ? "none" : absl::StrJoin(forms, ", ");
}

}  // namespace

absl::Status CheckAbilities(const Target& target, SlotRole::Role role, const Quantizer& quantizer,
                            const QuantSpec& spec) {
  const Target::Abilities& abilities = AbilitiesOf(target, role);
  const auto cannot = [&target](const auto&... parts) { return Cannot(target, parts...); };
  if (!Allows(abilities.quantizers(), spec.quantizer())) {
    return cannot("quantizer ", spec.quantizer(), " is not among its ",
                  absl::StrJoin(abilities.quantizers(), ", "));
  }
  const int bits = StoredSpec(quantizer, spec).bits();
  if ((abilities.has_min_bits() && bits < abilities.min_bits()) ||
      (abilities.has_max_bits() && bits > abilities.max_bits())) {
    return cannot("bits ", spec.bits(),
                  bits != spec.bits() ? absl::StrCat(", whose codes have ", bits) : "",
                  "; it does ",
                  !abilities.has_max_bits() ? absl::StrCat("at least ", abilities.min_bits())
                  : !abilities.has_min_bits()
                      ? absl::StrCat("at most ", abilities.max_bits())
                      : absl::StrCat(abilities.min_bits(), " to ", abilities.max_bits()));
  }
  if (!Allows(abilities.granularities(), spec.granularity())) {
    return cannot("granularity ", QuantSpec::Granularity_Name(spec.granularity()), "; it does ",
                  Names(abilities.granularities(), [](int g) {
                    return QuantSpec::Granularity_Name(QuantSpec::Granularity(g));
                  }));
  }
  if (spec.granularity() == QuantSpec::PER_CHANNEL) {
    RETURN_IF_ERROR(CheckAxis(target, role, quantizer, spec));
  }
  if (!Allows(abilities.schemes(), spec.scheme())) {
    return cannot("scheme ", QuantSpec::Scheme_Name(spec.scheme()), "; it does ",
                  Names(abilities.schemes(),
                        [](int s) { return QuantSpec::Scheme_Name(QuantSpec::Scheme(s)); }));
  }
  if (!Allows(abilities.signedness(), spec.signedness())) {
    return cannot("signedness ", QuantSpec::Signedness_Name(spec.signedness()), "; it does ",
                  Names(abilities.signedness(), [](int s) {
                    return QuantSpec::Signedness_Name(QuantSpec::Signedness(s));
                  }));
  }
  if (!Allows(abilities.roundings(), spec.rounding())) {
    return cannot("rounding ", QuantSpec::Rounding_Name(spec.rounding()), "; it does ",
                  Names(abilities.roundings(),
                        [](int r) { return QuantSpec::Rounding_Name(QuantSpec::Rounding(r)); }));
  }
  if (abilities.power_of_two_steps() && !HasPowerOfTwoSteps(quantizer, spec)) {
    return cannot("quantizer ", quantizer.name(),
                  CanHavePowerOfTwoSteps(quantizer)
                      ? " is told not to widen its ranges (power_of_two_steps: 0)"
                      : " does not make its steps powers of two",
                  ", and all steps are powers of two");
  }
  const QuantizerRecipe* recipe = FindRecipe(quantizer, spec, EraOf(target));
  if (recipe == nullptr) {
    return cannot("quantizer ", quantizer.name(), " has no ", QuantSpec::Form_Name(spec.form()),
                  " form in its era; it has ", FormsOf(quantizer, EraOf(target)));
  }
  if (abilities.reference_ops_only()) {
    if (!recipe->reference_runs_it) {
      return cannot("quantizer ", quantizer.name(), " is not among the reference's ops");
    }
    for (const QuantizerParameter& parameter : quantizer.parameters()) {
      if (!parameter.reference_has_it &&
          Parameter(quantizer, spec, parameter.name) != parameter.default_value) {
        return cannot("quantizer ", quantizer.name(), ": the reference's op has no ",
                      parameter.name);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAxis(const Target& target, SlotRole::Role role, const Quantizer& quantizer,
                       const QuantSpec& spec) {
  const Target::Abilities& abilities = AbilitiesOf(target, role);
  if (!Allows(abilities.axes(), spec.axis())) {
    return Cannot(target, "axis ", spec.axis(), "; it does ",
                  absl::StrJoin(abilities.axes(), ", "));
  }
  const auto axes = quantizer.axes(EraOf(target));
  if (!Allows(axes, spec.axis())) {
    return Cannot(target, "axis ", spec.axis(), "; the ops of quantizer ", quantizer.name(),
                  " in its era do ", absl::StrJoin(axes, ", "));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
