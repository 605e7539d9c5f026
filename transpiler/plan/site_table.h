// The sites of a plan that is being made.

#ifndef FIXPOINT_TRANSPILER_PLAN_SITE_TABLE_H_
#define FIXPOINT_TRANSPILER_PLAN_SITE_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ops/gradient_links.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// Adds sites, their readers and the gradients that go with these to a plan.
class SiteTable {
 public:
  // REQUIRES: both outlive the object, and nothing else adds to the plan's sites or gradients.
  SiteTable(const GradientLinks& links, Plan* plan) : links_(links), plan_(*plan) {}

  // References to sites are valid until the next one is added.

  Site& Add(Site site);
  // The site of a value with a spec and a shared scale ("" for none), added if there is none yet.
  Site& SiteOf(const Value& value, SlotRole::Role role, const QuantSpec& spec,
               const std::string& shared_scale, bool observe);
  // The first site of a value that has a scale of its own and is not only observed; null if there
  // is none.
  const Site* FirstOf(const Value& value) const;
  // The name of the scale that the inputs of `op` share; no other op has it.
  std::string NameOfSharedScale(const Op& op);

  // Lets an input read the site, and the gradient ops that repeat the input as well.
  void AddReader(Site& site, const Argument& input);
  // Whether an input reads any site.
  bool HasReader(const Argument& input) const { return readers_.contains(&input); }

 private:
  const GradientLinks& links_;
  Plan& plan_;
  absl::flat_hash_map<std::pair<const Value*, std::string>, size_t> places_;  // in plan_.sites
  absl::flat_hash_map<const Value*, size_t> first_places_;
  absl::flat_hash_set<const Argument*> readers_;
  absl::flat_hash_set<const Op*> rewired_;
  absl::flat_hash_map<std::string, int> shared_scales_;  // the last number tried for a name
  absl::flat_hash_set<std::string> taken_shared_scales_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SITE_TABLE_H_
