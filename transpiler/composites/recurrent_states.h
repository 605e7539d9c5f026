// How the state of a recurrent layer follows from its gates, in the notation of components.h: for
// a step of a layer as for a unit that is one step. `step` ends the names of the step's values.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// From the sums i, f, g and o of an LSTM: the gates, `cell` and `hidden`.
std::string LstmStateText(absl::string_view step, absl::string_view cell_before,
                          absl::string_view cell, absl::string_view hidden);

// Whether the update gate of a GRU says how much of the state is kept, or how much is new.
enum class GruUpdate { kKeeps, kReplaces };

// From update_gate and candidate: `hidden`.
std::string GruStateText(absl::string_view step, absl::string_view hidden_before,
                         absl::string_view hidden, GruUpdate update);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_
