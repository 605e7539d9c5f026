#include "ops/codes/held_codes.h"

namespace fixpoint {

std::optional<CodeRange> CodesHeldOf(const CodeRange& made, bool is_never_negative) {
  if (made.bits <= 8) return made;
  const bool fits_from_zero = made.bits == 9 && !made.is_unsigned && is_never_negative;
  return fits_from_zero ? std::optional(UnsignedPartOf(made)) : std::nullopt;
}

}  // namespace fixpoint
