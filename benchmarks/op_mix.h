// Programs of any size with the ops of a real training program, for measuring what must stay
// linear.

#ifndef FIXPOINT_BENCHMARKS_OP_MIX_H_
#define FIXPOINT_BENCHMARKS_OP_MIX_H_

#include "proto/wire/program.pb.h"

namespace fixpoint {

// The SSD training program of the reference data without its call stacks; where the reference
// data is absent, one training step of a small convolution.
ProgramDesc OpMixSeed();

// A program of one block that repeats the ops of block 0 of `seed` until there are `ops` of them.
// All variables of repetition i > 0, parameters too, get the suffix "__<i>", in op_role_var as
// well. Ops that run a sub-block are left out.
// REQUIRES: block 0 of `seed` has an op that stays.
ProgramDesc RepeatOpMix(const ProgramDesc& seed, int ops);

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_OP_MIX_H_
