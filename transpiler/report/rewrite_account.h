// What patterns did to a program, for people.

#ifndef FIXPOINT_TRANSPILER_REPORT_REWRITE_ACCOUNT_H_
#define FIXPOINT_TRANSPILER_REPORT_REWRITE_ACCOUNT_H_

#include <string>

#include "transpiler/patterns/pattern_rewriter.h"

namespace fixpoint {

// A line for each pattern that was applied: how often, and how many ops became how many; then how
// many gradient ops.
std::string RewriteAccountTable(const RewriteReport& report);

// A line for each match that was replaced, and one for each near match, with the reason.
std::string RewriteExplainTable(const RewriteReport& report);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_REWRITE_ACCOUNT_H_
