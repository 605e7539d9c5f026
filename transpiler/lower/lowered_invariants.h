// What holds for a lowered program, checked at the end of each lowering:
//
//   1. It is fed and fetches what the portable program is fed and fetches, by the same ops.
//   2. Codes are written by an op that says their type, range, largest code and zero point, and
//      declared with that type. An op that moves codes moves codes of one kind, and gives that
//      kind.
//   3. Codes that the portable program has too are those of its quantizer: of its type, range,
//      largest code, zero point and multiplier.
//   4. What reads codes as floats reads the floats that the portable program reads, by the same
//      range, largest code and zero point, or by the step between two: steps to floats, sums with
//      codes, products with parameters, averages, rows of parameters. Nothing else reads codes but
//      ops that move them.
//   5. The scales of sums are finite, and not negative but by the factor of a matmul.
//   6. No step to floats is left that nothing reads.
//   7. The account has each op of the portable program but its feeds and fetches, in order.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWERED_INVARIANTS_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWERED_INVARIANTS_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"
#include "transpiler/lower/lower_context.h"

namespace fixpoint {

// `context` is that of the pipeline that lowered the program. Error (kInternal): what is violated,
// a line each. Linear in both programs.
absl::Status CheckLoweredProgram(const Program& portable, const Program& lowered,
                                 const LowerContext& context);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWERED_INVARIANTS_H_
