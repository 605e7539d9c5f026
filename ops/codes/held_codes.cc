#include "ops/codes/held_codes.h"

namespace fixpoint {

std::optional<CodeRange> CodesHeldOf(const CodeRange& made, bool is_never_negative) {
  if (FitByte(made)) return made;
  if (made.is_unsigned || !is_never_negative) return std::nullopt;
  const CodeRange from_zero = UnsignedPartOf(made);
  return FitByte(from_zero) ? std::optional(from_zero) : std::nullopt;
}

std::optional<CodeRange> CodesHeldOf(const CodeOp& op, bool is_never_negative) {
  if (op.multiplies_by_step) return std::nullopt;
  // Affine codes of floats that are never negative begin at their zero point.
  return CodesHeldOf(op.codes, is_never_negative && !op.scales_are_steps);
}

}  // namespace fixpoint
