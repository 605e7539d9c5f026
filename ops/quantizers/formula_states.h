// Whether the states that a quantizer's text declares are those that its ops need.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_

#include "absl/status/status.h"
#include "ops/quantizers/quantizer_text.h"

namespace fixpoint {

// Error (kInvalidArgument), with file and line: no op reads a state; it is 0 in every step, or a
// range that is not above 0; a trained one has no first value.
absl::Status CheckStates(const QuantizerText& text);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_
