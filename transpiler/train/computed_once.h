// Which ops of a formula compute from parameters alone.

#ifndef FIXPOINT_TRANSPILER_TRAIN_COMPUTED_ONCE_H_
#define FIXPOINT_TRANSPILER_TRAIN_COMPUTED_ONCE_H_

#include <vector>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// Gives kComputedOnceAttr (ops/computed_once.h) to those of a quantizer's forward ops that compute
// from states and, where the value is a weight, from the value. Ops that draw random numbers in
// training are left out.
void MarkComputedOnce(bool quantizes_weight, std::vector<OpDesc>* ops);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_COMPUTED_ONCE_H_
