// Parameters that are codes with steps and zero points.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_AFFINE_PARAMETER_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_AFFINE_PARAMETER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

struct AffineParameterCodes {
  const Argument* codes = nullptr;
  const Argument* scales = nullptr;
  const Argument* zero_points = nullptr;
  const Tensor* tensor = nullptr;  // INT8; UINT8 only with one zero point
  const Tensor* steps = nullptr;   // FP32, one for all codes or for each row
  std::optional<int> row_axis;     // the axis of rows that have a step and a zero point each
  int32_t zero_point = 0;          // where there is one for all codes
};

// Returns nothing where an input is not such codes, or a step or a zero point is no parameter.
// Errors: one of the tensors is not in the parameters, or of another type or size; a zero point is
// no code; those of CheckRanges.
absl::StatusOr<std::optional<AffineParameterCodes>> FindAffineParameterCodes(const Argument& input,
                                                                             Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_AFFINE_PARAMETER_H_
