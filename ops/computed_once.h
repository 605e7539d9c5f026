// Ops that compute from parameters alone and become parameters when a program is frozen.

#ifndef FIXPOINT_OPS_COMPUTED_ONCE_H_
#define FIXPOINT_OPS_COMPUTED_ONCE_H_

namespace fixpoint {

// The BOOL attribute of such an op. Freezing computes it by the reference interpreter, and so does
// every backend before that: what is frozen is then what training computed, to the bit, whatever
// the op's type.
inline constexpr char kComputedOnceAttr[] = "fixpoint.computed_once";

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_COMPUTED_ONCE_H_
