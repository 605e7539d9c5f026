// What a lowering did to every op: counted by type, and listed op by op.

#ifndef FIXPOINT_TRANSPILER_REPORT_LOWERING_ACCOUNT_H_
#define FIXPOINT_TRANSPILER_REPORT_LOWERING_ACCOUNT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transpiler/lower/lowered_op.h"
#include "transpiler/report/account.h"

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

// What an op does in a lowered program.
enum class LoweredPart {
  kIntegers,  // it is computed on integers
  kEdge,      // it stands between floats and codes
  kFloat,
};
LoweredPart PartOf(IntegerReason reason);
// The code of the op's reason: "not_quantized".
absl::string_view ReasonCode(const LoweredOp& op);
// The code of an op that is computed on integers by itself.
inline constexpr absl::string_view kOnIntegersCode = "on_integers";
// The part and the meaning of a reason by its code; nothing and "" if no reason has it.
std::optional<LoweredPart> PartOfCode(absl::string_view code);
absl::string_view MeaningOfCode(absl::string_view code);

// The counts of one op type.
struct LoweredType {
  std::string op_type;
  std::vector<std::pair<IntegerReason, int>> ops;  // how many, in the order of the reasons
};
// By type.
std::vector<LoweredType> CountByType(absl::Span<const LoweredOp> ops);

struct LoweringAccount {
  std::vector<AccountLine> lines;  // by op type; what is done to an op is to lower it
  int integers = 0;
  int edges = 0;
  int floats = 0;
};
LoweringAccount MakeLoweringAccount(absl::Span<const LoweredOp> ops);

// A line for each op, in program order: place, reason and what that means.
std::string LoweringExplainTable(absl::Span<const LoweredOp> ops);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_LOWERING_ACCOUNT_H_
