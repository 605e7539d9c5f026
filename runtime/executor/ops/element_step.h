// Steps that compute each element of their result from those at its place.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_STEP_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_STEP_H_

#include <vector>

#include "runtime/executor/op_planner.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::executor {

// A tensor of a loop with an element for each of the loop's.
inline ElementLoop::Operand AtPlace(Buffer buffer) { return {buffer, {buffer.size, 1}}; }

// Adds the step that computes `result` from buffers of its size, as a whole, or a block of it if
// the step is fused with others. A loop may write over any of them.
void AddElementStep(OpPlanner& op, const std::vector<Buffer>& reads, Buffer result,
                    kernels::BlockLoop run);

// The same for rows of `row` elements that are computed together, from rows at their place and from
// `whole` buffers, which come after those. What reads the result element by element runs on a row
// while it is in the cache.
void AddRowStep(OpPlanner& op, std::vector<Buffer> reads, const std::vector<Buffer>& whole,
                Buffer result, int64_t row, kernels::BlockLoop run);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_STEP_H_
