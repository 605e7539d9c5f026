// Parameters that are the codes of a bias, in steps of the sums that it is added to.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

struct ParameterBiasCodes {
  const Argument* codes = nullptr;  // INT32, one for each channel
  const Tensor* tensor = nullptr;
  std::vector<float> steps;

  // Whether sums with such scales, one or one for each channel, have these steps.
  bool IsOfSums(absl::Span<const float> scales) const;
};

// Returns nothing where an input is not such codes. Errors: one of the tensors is not in the
// parameters, or of another type or size, or holds what is no code; those of CheckRanges.
absl::StatusOr<std::optional<ParameterBiasCodes>> FindParameterBiasCodes(const Argument& input,
                                                                         Lowering& lowering);

// Declares the codes of a bias of floats for an op that gives `output`, in steps that are the
// scales of its sums, and gives their name. Nothing where one exceeds `largest_code`
// (FillBiasCodes). REQUIRES: FP32, with an element for each scale.
absl::StatusOr<std::optional<std::string>> AddBiasCodes(const Tensor& bias,
                                                        absl::Span<const float> scales,
                                                        int64_t largest_code,
                                                        absl::string_view output,
                                                        Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_BIAS_CODES_H_
