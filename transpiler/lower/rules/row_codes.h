// Parameters that are codes with a step and a zero point for each row.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_ROW_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_ROW_CODES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// INT8, with as many scales, FP32, and zero points, INT32, as there are rows on the axis.
struct ParameterRowCodes {
  const Argument* codes = nullptr;
  const Argument* scales = nullptr;
  const Argument* zero_points = nullptr;
  const Tensor* tensor = nullptr;
  const Tensor* steps = nullptr;
  int axis = 0;
};

// Returns nothing where an input is not such codes. Errors: one of the tensors is not in the
// parameters, or of another type or size; those of CheckRanges.
absl::StatusOr<std::optional<ParameterRowCodes>> FindParameterRowCodes(const Argument& input,
                                                                       Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_ROW_CODES_H_
