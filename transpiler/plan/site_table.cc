#include "transpiler/plan/site_table.h"

#include "absl/strings/str_cat.h"
#include "proto/program/op.h"
#include "proto/wire/deterministic_bytes.h"

namespace fixpoint {

Site& SiteTable::Add(Site site) {
  plan_.sites.push_back(std::move(site));
  return plan_.sites.back();
}

Site& SiteTable::SiteOf(const Value& value, SlotRole::Role role, const QuantSpec& spec,
                        const std::string& shared_scale, bool observe) {
  std::string key = absl::StrCat(DeterministicBytes(spec), "|", shared_scale, "|", observe);
  const auto [place, is_new] =
      places_.try_emplace(std::make_pair(&value, std::move(key)), plan_.sites.size());
  if (is_new) {
    Site site;
    site.value = &value;
    site.role = role;
    site.spec = spec;
    site.shared_scale = shared_scale;
    site.observe = observe;
    Add(std::move(site));
    if (shared_scale.empty() && !observe) first_places_.try_emplace(&value, place->second);
  }
  return plan_.sites[place->second];
}

const Site* SiteTable::FirstOf(const Value& value) const {
  const auto found = first_places_.find(&value);
  return found == first_places_.end() ? nullptr : &plan_.sites[found->second];
}

std::string SiteTable::NameOfSharedScale(const Op& op) {
  // Several ops may write one variable, and an op may write none.
  const std::string name(op.outputs().empty() ? op.type() : op.outputs()[0]->name());
  std::string unique = name;
  int& tries = shared_scales_[name];
  while (!taken_shared_scales_.insert(unique).second) unique = absl::StrCat(name, "_", ++tries);
  return unique;
}

void SiteTable::AddReader(Site& site, const Argument& input) {
  site.readers.push_back(&input);
  readers_.insert(&input);
  if (rewired_.insert(&input.op()).second) {
    for (const Op* gradient : links_.GradientsOf(input.op())) {
      plan_.gradients.emplace_back(&input.op(), gradient);
    }
  }
  for (const Argument* repeat : links_.RepeatsOf(input)) {
    site.gradient_readers.push_back(repeat);
  }
}

}  // namespace fixpoint
