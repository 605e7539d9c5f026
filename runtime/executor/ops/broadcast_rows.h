// The rows of arithmetic whose second tensor has one row for several of the first, such as a mask
// of samples for all heads and positions, which no loop over elements repeats.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_ROWS_H_

#include <optional>

#include "runtime/executor/plan.h"
#include "runtime/executor/step_rows.h"
#include "runtime/kernels/elementwise.h"

namespace fixpoint::executor {

// The last dimension is a row. Nothing: x has not the dims of the result, or y has not one row for
// equally many adjacent ones.
std::optional<StepRows> RowsOfBroadcast(kernels::Arithmetic arithmetic,
                                        const kernels::ElementwiseShape& shape, Buffer x, Buffer y,
                                        Buffer out);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_ROWS_H_
