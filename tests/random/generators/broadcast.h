// The dims of two tensors of which one repeats along dimensions of the other.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_BROADCAST_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_BROADCAST_H_

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

struct SomeBroadcast {
  Dims x;
  Dims y;
  int axis = -1;
};

// Y stands at some of X's axes, and has extents of 1 there; since 2.0 X may have some too.
SomeBroadcast DrawBroadcast(CaseMaker& c);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_BROADCAST_H_
