// What would help an op of a report. Every advice follows from the report's facts, by one closed
// table of conditions (advice.cc).

#ifndef FIXPOINT_TRANSPILER_REPORT_ADVICE_H_
#define FIXPOINT_TRANSPILER_REPORT_ADVICE_H_

#include <string>
#include <vector>

#include "proto/config/run_report.pb.h"

namespace fixpoint {

struct Advice {
  std::string code;  // "clipped"
  std::string text;  // sentences: what is seen, and what to do about it
};

// For the values that the op reads, then for the op, in the order of the table; none if nothing
// seems wrong. REQUIRES: the op is the report's, which CheckRunReport passes.
std::vector<Advice> AdviceFor(const RunReport& report, const RunReport::Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_ADVICE_H_
