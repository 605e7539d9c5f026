// Which of its outputs an op writes.

#ifndef FIXPOINT_OPS_WRITTEN_OUTPUTS_H_
#define FIXPOINT_OPS_WRITTEN_OUTPUTS_H_

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// False for an output that its op writes in training alone, where is_test is true: what an op that
// draws random numbers tells of those (the mask of dropout). True for any other output.
bool IsWritten(const Argument& output, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_WRITTEN_OUTPUTS_H_
