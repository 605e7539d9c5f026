#include "ops/never_negative.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// The inputs that decide where the op itself does not; nothing: the output may be negative.
std::vector<const Argument*> SourcesOf(const Op& op, const OpSchema& schema, Era era) {
  std::vector<const Argument*> sources;
  if (!schema.KeepsSign(op.desc(), era) && !schema.KeepsRange(op.desc(), era)) return sources;
  std::vector<std::string> slots = schema.traits().moved;
  if (std::find(slots.begin(), slots.end(), "Y") == slots.end()) slots.emplace_back("Y");
  for (const std::string& slot : slots) {
    for (const Argument* input : op.Inputs(slot)) sources.push_back(input);
  }
  return sources;
}

}  // namespace

bool NeverNegative::Holds(const Value& value) {
  // A value is visited before its sources and again after them. Until then it counts as possibly
  // negative, which is also the answer for a value that depends on itself (in a loop).
  struct Visit {
    const Value* value;
    bool sources_are_known;
  };
  std::vector<Visit> visits = {{&value, false}};
  while (!visits.empty()) {
    const auto [at, sources_are_known] = visits.back();
    visits.pop_back();
    if (!sources_are_known && !known_.emplace(at, false).second) continue;
    if (at->origin() != Value::Origin::kWrite) continue;
    const OpSchema* schema = FindOpSchema(at->op()->type());
    if (schema == nullptr) continue;
    if (schema->NeverNegative(at->op()->desc(), era_)) {
      known_[at] = true;
      continue;
    }
    const std::vector<const Argument*> sources = SourcesOf(*at->op(), *schema, era_);
    if (!sources_are_known && !sources.empty()) visits.push_back({at, true});
    bool holds = !sources.empty();
    for (const Argument* source : sources) {
      if (source->value() == nullptr) {
        holds = false;
      } else if (sources_are_known) {
        holds = holds && known_[source->value()];
      } else {
        visits.push_back({source->value(), false});
      }
    }
    if (sources_are_known) known_[at] = holds;
  }
  return known_[&value];
}

}  // namespace fixpoint
