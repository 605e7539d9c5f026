// A rule of lowering: what becomes of one op of a portable program, so that it, or more of what is
// around it, is computed on integers.
//
// Ops are lowered in program order. The inputs of an op are lowered before it: floats that were
// codes come from integer_dequantize, and the epilogue of a product of codes may still take up the
// only op that reads its result.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_RULE_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_RULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

class LoweringRule {
 public:
  virtual ~LoweringRule() = default;

  // What it lowers: "convolution".
  virtual absl::string_view name() const = 0;
  // A sentence for the generated list.
  virtual absl::string_view doc() const = 0;
  virtual std::vector<std::string> op_types() const = 0;

  // Rewrites an op that is in form (Lowering::IsInForm), which is gone then (kOnIntegers,
  // kBiasAsNumbers), or leaves it as it is and says why. Errors name the op: kInvalidArgument: it
  // contradicts itself, or what a parameter holds; kNotFound: there is no such parameter.
  virtual absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const = 0;
};

// The rules of all_rules.inc.
const std::vector<std::unique_ptr<LoweringRule>>& LoweringRules();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_RULE_H_
