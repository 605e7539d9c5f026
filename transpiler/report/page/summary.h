// What a page begins with: the numbers that count, and what a run was.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_SUMMARY_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_SUMMARY_H_

#include <vector>

#include "transpiler/report/page/html.h"
#include "transpiler/report/page/run_view.h"

namespace fixpoint {

// For each run: its metrics before and after, its size, expected time, ops on integers and the
// layer with the most noise, as far as they are known; then its notes.
void WriteSummary(const std::vector<RunView>& runs, Html* html);

// What was asked for, and what each form of the program takes. Settings that differ are marked.
void WriteSettings(const std::vector<RunView>& runs, Html* html);

// By type of op, how many are on integers, in float and as they were; then what the reasons mean.
void WriteDecisions(const RunView& run, Html* html);

// What would help, for the worst layers first; the same advice for several once.
void WriteAdvice(const RunView& run, Html* html);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_SUMMARY_H_
