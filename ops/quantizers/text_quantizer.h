// Quantizers that are written as text.

#ifndef FIXPOINT_OPS_QUANTIZERS_TEXT_QUANTIZER_H_
#define FIXPOINT_OPS_QUANTIZERS_TEXT_QUANTIZER_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer.h"

namespace fixpoint {

// The quantizers of a file, checked: a formula with a state for each range is two of them, `name`
// and, for a weight with a range for each channel, `channel_wise_name`. Errors (kInvalidArgument),
// with file and line: those of ParseQuantizerTexts; an op that is not known or does not fit what it
// reads; a name that nothing gives; a section that writes nothing it is for; no gradient for the
// value or for what is trained; a state that CheckStates (formula_states.h) refuses; what CheckUses
// (formula_uses.h) says has no effect; a quantizer's name that `is_taken`.
absl::StatusOr<std::vector<std::unique_ptr<Quantizer>>> ReadQuantizers(
    absl::string_view text, absl::string_view file_name,
    const std::function<bool(absl::string_view name)>& is_taken = nullptr);

// The quantizers of ops/quantizers/texts, by the names of the files.
std::vector<std::unique_ptr<Quantizer>> BuiltInTextQuantizers();

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_TEXT_QUANTIZER_H_
