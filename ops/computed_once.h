// Ops that compute from parameters alone: in training in each step, and once when a program is
// frozen, which makes parameters of what they compute.

#ifndef FIXPOINT_OPS_COMPUTED_ONCE_H_
#define FIXPOINT_OPS_COMPUTED_ONCE_H_

namespace fixpoint {

// The BOOL attribute of such an op. Freezing computes it by the reference interpreter, and every
// backend computes the same bits before that: what is frozen is then what training computed,
// whatever the op's type.
inline constexpr char kComputedOnceAttr[] = "fixpoint.computed_once";

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_COMPUTED_ONCE_H_
