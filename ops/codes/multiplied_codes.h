// The product of two values that are held as codes, element by element. Each is one integer, times
// both steps (integer_elementwise_mul), whether a step of its own computes it or an op of a lowered
// program, so that training, test mode, and portable and lowered programs have the same bits.

#ifndef FIXPOINT_OPS_CODES_MULTIPLIED_CODES_H_
#define FIXPOINT_OPS_CODES_MULTIPLIED_CODES_H_

#include "ops/codes/run_facts.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op multiplies two values element by element that are both held as codes. Not where
// images could not lie channels last, because Y has fewer dimensions than they and no pixels or no
// channels of its own.
bool MultipliesCodes(const Op& op, const RunFacts& facts);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_MULTIPLIED_CODES_H_
