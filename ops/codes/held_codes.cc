#include "ops/codes/held_codes.h"

namespace fixpoint {
namespace {

// Affine codes of floats that are never negative begin at their zero point.
std::optional<CodeRange> HeldOf(const CodeRange& made, bool is_affine, bool is_never_negative) {
  return CodesHeldOf(made, is_never_negative && !is_affine);
}

std::optional<CodeRange> WideOf(const CodeRange& made, bool is_affine, bool is_never_negative) {
  const bool can_be = !is_affine && !made.is_unsigned;
  if (!can_be || HeldOf(made, is_affine, is_never_negative)) return std::nullopt;
  return made;
}

}  // namespace

std::optional<CodeRange> CodesHeldOf(const CodeRange& made, bool is_never_negative) {
  if (FitByte(made)) return made;
  if (made.is_unsigned || !is_never_negative) return std::nullopt;
  const CodeRange from_zero = UnsignedPartOf(made);
  return FitByte(from_zero) ? std::optional(from_zero) : std::nullopt;
}

std::optional<CodeRange> CodesHeldOf(const CodeOp& op, bool is_never_negative) {
  if (op.multiplies_by_step) return std::nullopt;
  return HeldOf(op.codes, op.scales_are_steps, is_never_negative);
}

std::optional<CodeRange> CodesHeldOf(const QuantSpec& spec, bool is_never_negative) {
  return HeldOf(CodeRangeOf(spec), spec.scheme() == QuantSpec::AFFINE, is_never_negative);
}

std::optional<CodeRange> WideCodesOf(const CodeOp& op, bool is_never_negative) {
  if (op.multiplies_by_step) return std::nullopt;
  return WideOf(op.codes, op.scales_are_steps, is_never_negative);
}

std::optional<CodeRange> WideCodesOf(const QuantSpec& spec, bool is_never_negative) {
  return WideOf(CodeRangeOf(spec), spec.scheme() == QuantSpec::AFFINE, is_never_negative);
}

}  // namespace fixpoint
