// Whether all that a quantizer's text says has an effect.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_USES_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_USES_H_

#include "absl/status/status.h"
#include "ops/quantizers/quantizer_text.h"

namespace fixpoint {

// Error (kInvalidArgument), with file and line: an initial or update section writes no state;
// nothing reads what an op computes, or a setting. What comes from the text that this one builds on
// is left alone.
absl::Status CheckUses(const QuantizerText& text);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_USES_H_
