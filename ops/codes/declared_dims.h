// What a program declares of the dimensions that an op reads.

#ifndef FIXPOINT_OPS_CODES_DECLARED_DIMS_H_
#define FIXPOINT_OPS_CODES_DECLARED_DIMS_H_

#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The dims that are declared for what an argument reads, some of which may be unknown; {} where no
// tensor is declared.
Dims DeclaredDims(const Argument& input);
// The same for the first argument of a slot; {} where there is none.
Dims DeclaredDims(const Op& op, absl::string_view slot);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_DECLARED_DIMS_H_
