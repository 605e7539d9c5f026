// The sum with a residual that is held as codes. Each code is added by one fma (ops/epilogue.h),
// whether an epilogue does it or a step of its own, so that training, test mode, and portable and
// lowered programs have the same bits.

#ifndef FIXPOINT_OPS_CODES_ADDED_CODES_H_
#define FIXPOINT_OPS_CODES_ADDED_CODES_H_

#include "ops/codes/run_facts.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The form of the codes that a sum adds where it reads that input; of kind kFloats where it adds
// floats, as it does where the program does not declare both inputs with one shape
// (ops/equal_shapes.h).
HeldForm AddedForm(const Op& sum, const Argument& input, const RunFacts& facts);

// The input of a sum whose codes are added where no product does it: Y, or X if Y is not held as
// codes. Null where neither is.
const Argument* FindAddedCodes(const Op& sum, const RunFacts& facts);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_ADDED_CODES_H_
