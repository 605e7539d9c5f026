// The configuration's rules: which of them match an op, and what they do to a slot.

#ifndef FIXPOINT_TRANSPILER_PLAN_RULES_H_
#define FIXPOINT_TRANSPILER_PLAN_RULES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {

// Whether `pattern` matches all of `text`: * matches any characters, ? exactly one.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// Whether a scope ("/a/b/") has `path` ("b", "a/b") as a run of whole components.
bool ScopeContains(absl::string_view scope, absl::string_view path);

// Merges the spec of one quantizer over another: parameters, granularity, axis and scheme of a
// quantizer that is replaced are not kept.
void MergeSpec(const QuantSpec& from, QuantSpec* into);

// The rules of one configuration for one program; counts what they match.
class Rules {
 public:
  // `with_outputs`: whether rules may be about outputs that can be quantized.
  Rules(const QuantConfig& config, bool with_outputs);

  // The rules that match an op, before its slots are considered.
  struct OpMatches {
    std::vector<int> rules;  // positions, in order; including rules about one slot
  };
  OpMatches Match(const Op& op);

  // The effect of the matching rules on one slot: the last one that matches wins.
  struct SlotAction {
    bool skip = false;
    bool asks = false;           // a rule has a spec: it requests what is done on request
    bool asks_for_slot = false;  // a rule about this very slot does
    QuantSpec spec;              // merged, in order
    std::string rule;            // the last one's name; "" if none matched
  };
  SlotAction Resolve(const OpMatches& matches, absl::string_view slot) const;
  // The bits of the codes of the op's hidden state that the last rule which says them asks for.
  std::optional<int> StateBits(const OpMatches& matches) const;
  // The name of the last rule with a spec, unless a later one skips the op; "" if there is none.
  std::string AskingRule(const OpMatches& matches) const;

  // Error (kInvalidArgument): rules without a key, or without one action; all of them.
  absl::Status CheckForm() const;

  // Error (kInvalidArgument): rules that matched nothing and are not optional, all of them.
  absl::Status CheckAllMatched() const;

 private:
  // The slots of an op about which a rule can be: inputs that may be quantized and, if outputs are
  // requested, outputs.
  std::set<std::string> QuantizableSlots(const Op& op) const;
  std::string NameOf(int rule) const;
  const std::string& LayerOf(const Op& op);
  // " (the layers are conv1, fc)": those of the ops that were asked about, or the first of them.
  std::string LayersText() const;

  const QuantConfig& config_;
  const bool with_outputs_;
  std::vector<int> match_counts_;
  // For each rule about a slot, those of the ops that match its other keys up to there.
  std::vector<std::set<std::string>> other_slots_;
  Parameters parameters_;
  absl::flat_hash_map<const Op*, std::string> layers_;  // of the ops that were asked about
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_RULES_H_
