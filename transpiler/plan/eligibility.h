// Which ops and values a target can compute on integers, and why it cannot compute the others.

#ifndef FIXPOINT_TRANSPILER_PLAN_ELIGIBILITY_H_
#define FIXPOINT_TRANSPILER_PLAN_ELIGIBILITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ops/era.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/rules.h"

namespace fixpoint {

// The attribute by which an op fails to meet the conditions of an entry; nothing if it meets them.
std::optional<std::string> FindUnmetCondition(const Op& op, const Target::QuantizedOp& entry,
                                              Era era);

class Eligibility {
 public:
  // REQUIRES: all outlive this object.
  Eligibility(const Program& program, const QuantConfig& config, const Target& target);

  // The entry of the target that computes this op; null, with the reason in `decision`, if none
  // does.
  const Target::QuantizedOp* ChooseEntry(const Op& op, const Rules::OpMatches& matches,
                                         Decision& decision);
  // Why an op stays float, whatever the target supports, with the cause in `detail`.
  std::optional<Reason> WhySkipped(const Op& op, std::string& detail) const;
  // Why the value that an argument reads or writes cannot be quantized.
  std::optional<Reason> WhyNotValue(const Argument& argument, std::string& detail) const;
  bool IsWeight(const Value& value) { return parameters_.IsWeight(value); }

 private:
  bool IsAskedFor(const Op& op, const Rules::OpMatches& matches) const;
  std::optional<Reason> WhyNotEntry(const Op& op, const Target::QuantizedOp& entry,
                                    const Rules::OpMatches& matches, std::string& detail);

  const QuantConfig& config_;
  const Target& target_;
  const Era era_;
  Parameters parameters_;
  absl::flat_hash_map<std::string, std::vector<const Target::QuantizedOp*>> entries_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_ELIGIBILITY_H_
