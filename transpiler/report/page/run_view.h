// The runs that a page shows: one, or two beside each other.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_RUN_VIEW_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_RUN_VIEW_H_

#include <string>
#include <vector>

#include "proto/config/run_report.pb.h"

namespace fixpoint {

struct RunView {
  const RunReport* report;
  std::string name;    // for headings; "" where there is one run
  std::string prefix;  // of the ids of its elements
};

// An op in each run, by its type and output; -1 where a run does not have it.
struct Layer {
  std::vector<int> ops;
};

// The layers of all runs, the worst of any run first. Linear in the ops, but for sorting.
std::vector<Layer> MatchLayers(const std::vector<RunView>& runs);

// "op-3": the card of a layer.
std::string LayerId(const RunView& run, int op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_RUN_VIEW_H_
