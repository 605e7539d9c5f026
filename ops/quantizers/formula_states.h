// Whether the states that a quantizer's text declares are those that its ops need.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_

#include "absl/status/status.h"
#include "ops/quantizers/quantizer_text.h"

namespace fixpoint {

// Error (kInvalidArgument), with file and line: no op reads a state; a trained one has no first
// value, or is a range and begins with none above 0.
absl::Status CheckStates(const QuantizerText& text);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_STATES_H_
