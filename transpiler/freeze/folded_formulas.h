// What the formulas of quantizers compute from parameters, computed once.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FOLDED_FORMULAS_H_
#define FIXPOINT_TRANSPILER_FREEZE_FOLDED_FORMULAS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

// Whether the op computes what another one quantizes, or the range of that.
bool IsOfFormula(const Op& op);

// Makes what such ops compute from parameters alone parameters of the program, with their values in
// `parameters`, and removes these ops. `pass` names the author of the edits. A note says which op
// reads only parameters and cannot be computed. REQUIRES: the program is in test mode.
absl::Status FoldFormulaOps(absl::string_view pass, Program* program, EditedParameters* parameters,
                            std::vector<std::string>* notes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FOLDED_FORMULAS_H_
