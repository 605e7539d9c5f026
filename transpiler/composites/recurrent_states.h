// How the state of a recurrent layer follows from its gates, in the notation of components.h: for
// a step of a layer as for a unit that is one step. `step` ends the names of the step's values.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/gate_function.h"

namespace fixpoint {

// `y` as a function of a sum.
std::string FunctionText(GateFunction function, absl::string_view x, absl::string_view y);

struct LstmState {
  std::string step;
  std::string cell_before;
  std::string cell;
  std::string hidden;
  GateFunction gate_function = GateFunction::kSigmoid;
  GateFunction cell_function = GateFunction::kTanh;
  GateFunction candidate_function = GateFunction::kTanh;
  // Whether the cell adds to the sums of the gates, which are then i_without_peephole and so on, by
  // the weights peephole_weight_i, peephole_weight_f and peephole_weight_o.
  bool has_peepholes = false;
};

// From the sums i, f, g and o of an LSTM: the gates, `cell` and `hidden`.
std::string LstmStateText(const LstmState& state);

// Whether the update gate of a GRU says how much of the state is kept, or how much is new.
enum class GruUpdate { kKeeps, kReplaces };

// From update_gate and candidate: `hidden`.
std::string GruStateText(absl::string_view step, absl::string_view hidden_before,
                         absl::string_view hidden, GruUpdate update);

// Why a GRU's weight of these dims is not cut into matrices: they are no [D,3D], or too large; ""
// if it is.
std::string WhyNoGruWeight(DimsView weight);

// The matrices gate_weight and candidate_weight in the weight [D,3D] of a GRU, which holds [D,2D]
// of the gates, row by row, and then [D,D] of the candidate.
std::string GruWeightsText(absl::string_view weight, int64_t width);

struct GruStep {
  std::string input;  // [N,3D], with its bias
  std::string hidden_before;
  std::string hidden;
  int64_t width = 0;
  GateFunction gate_function = GateFunction::kSigmoid;
  GateFunction candidate_function = GateFunction::kTanh;
  GruUpdate update = GruUpdate::kReplaces;
};

// One step of a GRU whose reset comes before the product, from the weights of GruWeightsText.
std::string GruStepText(const GruStep& step);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_RECURRENT_STATES_H_
