// The rows of a step that is loops over elements (ElementLoop, plan.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_LOOP_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_LOOP_ROWS_H_

#include <cstdint>
#include <optional>

#include "runtime/executor/plan.h"
#include "runtime/executor/step_rows.h"

namespace fixpoint::executor {

// The elements of the step's loops as so many rows; nothing if a tensor does not repeat in rows, or
// what is folded needs all of them. The result reads the plan and the step. REQUIRES: count >= 1.
std::optional<StepRows> RowsOfLoops(const Plan& plan, const Step& step, int64_t count);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_LOOP_ROWS_H_
