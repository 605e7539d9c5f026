// The attribute by which training programs say which op computes the gradient of which parameter.

#ifndef FIXPOINT_PROTO_PROGRAM_ROLE_VARIABLES_H_
#define FIXPOINT_PROTO_PROGRAM_ROLE_VARIABLES_H_

namespace fixpoint {

// STRINGS: pairs of a parameter and its gradient.
inline constexpr char kRoleVarAttr[] = "op_role_var";

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_ROLE_VARIABLES_H_
