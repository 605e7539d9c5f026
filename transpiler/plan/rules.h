// The configuration's rules: which of them match an op, and what they make of a slot.

#ifndef FIXPOINT_TRANSPILER_PLAN_RULES_H_
#define FIXPOINT_TRANSPILER_PLAN_RULES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program.h"
#include "proto/quant_config.pb.h"
#include "proto/quant_spec.pb.h"

namespace fixpoint {

// Whether `pattern` matches all of `text`: * is any characters, ? is any one.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// Whether a scope ("/a/b/") has `path` ("b", "a/b") as a run of whole components.
bool ScopeContains(absl::string_view scope, absl::string_view path);

// Merges what is said of one quantizer over another: of a quantizer that is replaced, neither
// parameters, granularity, axis nor scheme are kept.
void MergeSpec(const QuantSpec& from, QuantSpec* into);

// The rules of one configuration over one program; counts what they match.
class Rules {
 public:
  explicit Rules(const QuantConfig& config);

  // What the rules say of an op, before they are asked about its slots.
  struct OpMatches {
    std::vector<int> rules;  // positions, in order; rules about one slot among them
  };
  OpMatches Match(const Op& op);

  // What the matching rules make of one slot: the last one that matches wins.
  struct SlotAction {
    bool skip = false;
    bool asks = false;           // a rule gives a spec: what is done on request is requested
    bool asks_for_slot = false;  // a rule about this very slot does
    QuantSpec spec;              // merged, in order
    std::string rule;            // the last one's name; "" if none matched
  };
  SlotAction Resolve(const OpMatches& matches, absl::string_view slot) const;

  // Error (kInvalidArgument): rules without a key, or without one action; all of them.
  absl::Status CheckForm() const;

  // Error (kInvalidArgument): rules that matched nothing and are not optional, all of them.
  absl::Status CheckAllMatched() const;

 private:
  // Whether a rule about a slot can do anything at an op: an input that may be quantized, or, where
  // outputs are asked for, an output.
  bool HasQuantizableSlot(const Op& op, const std::string& slot) const;
  std::string NameOf(int rule) const;

  const QuantConfig& config_;
  std::vector<int> match_counts_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_RULES_H_
