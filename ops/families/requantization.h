// The op that simulates requantization by a multiplier and a shift.

#ifndef FIXPOINT_OPS_FAMILIES_REQUANTIZATION_H_
#define FIXPOINT_OPS_FAMILIES_REQUANTIZATION_H_

#include "ops/op_schema_builder.h"

namespace fixpoint {

void DefineRequantization(OpList& ops);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_REQUANTIZATION_H_
