// Parameters that are the codes of a bias, in steps of the sums that it is added to.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

struct ParameterBiasCodes {
  const Argument* codes = nullptr;  // INT16 or INT32, one for each channel
  std::vector<float> steps;

  // Whether sums with such scales, one or one for each channel, have these steps.
  bool IsOfSums(absl::Span<const float> scales) const;
};

// Returns nothing where an input is not such codes, or a range is no parameter. Errors: one of the
// tensors is not in the parameters, or of another type or size, or holds what is no code; those of
// CheckRanges.
absl::StatusOr<std::optional<ParameterBiasCodes>> FindParameterBiasCodes(const Argument& input,
                                                                         Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_
