// The ops of a run as a graph that can be folded.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_H_

#include <vector>

#include "proto/config/run_report.pb.h"
#include "transpiler/report/page/html.h"
#include "transpiler/report/page/run_view.h"

namespace fixpoint {

// Ops that are drawn as one: one that was decided about, with what alone reads it in turn and was
// not, as a relu or a batch norm after a convolution. Indices of ops, ascending.
std::vector<std::vector<int>> ChainsOf(const RunReport& report);

// Parts of up to 40 chains, each with edges of its own; what a part reads of earlier ones ends in a
// stub. The first part is unfolded. Takes time linear in the ops.
void DrawGraph(const RunView& run, Html* html);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_H_
