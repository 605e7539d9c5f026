// The families of ops that all_ops.inc lists. A row without its function does not link.

#ifndef FIXPOINT_OPS_FAMILIES_H_
#define FIXPOINT_OPS_FAMILIES_H_

#include <vector>

#include "ops/op_schema.h"

namespace fixpoint {

#define FIXPOINT_OP_FAMILY(family) std::vector<OpSchema> family##Ops();
#include "ops/all_ops.inc"
#undef FIXPOINT_OP_FAMILY

// Calls use(schemas) with the ops of each family.
template <typename Use>
void ForEachFamily(const Use& use) {
#define FIXPOINT_OP_FAMILY(family) use(family##Ops());
#include "ops/all_ops.inc"
#undef FIXPOINT_OP_FAMILY
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_H_
