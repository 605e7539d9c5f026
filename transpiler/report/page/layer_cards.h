// The layers of runs: a table of all, and a card for each that unfolds.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_LAYER_CARDS_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_LAYER_CARDS_H_

#include <vector>

#include "transpiler/report/page/html.h"
#include "transpiler/report/page/run_view.h"

namespace fixpoint {

// A row for each layer with what was measured, in the order of `layers`; a column that no layer has
// anything for is left out.
void WriteLayerTable(const std::vector<RunView>& runs, const std::vector<Layer>& layers,
                     Html* html);

// Decision, reason, neighbours, values with their histograms, and advice. Of two runs, the cards of
// a layer stand beside each other, and what differs is marked.
void WriteLayerCards(const std::vector<RunView>& runs, const std::vector<Layer>& layers,
                     Html* html);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_LAYER_CARDS_H_
