// What a step does to its rows, of which any block may then pass through several steps while it is
// in the cache (row_blocks.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_STEP_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_STEP_ROWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::executor {

// Rows that a step computes one by one, without errors.
struct StepRows {
  // Row r of the step reads or writes part r / rows.inner % rows.count of the buffer, which has so
  // many equal parts.
  struct Part {
    Buffer buffer;
    kernels::Repetition rows;
  };
  using Run = std::function<void(const StepContext&)>;

  int64_t count;
  std::vector<Part> parts;  // all other buffers are whole
  // Makes what does the same to a block of so many rows, whose parts lie at the front of their
  // buffers; no bits change. Error: no kernel does it.
  std::function<absl::StatusOr<Run>(int64_t rows)> plan;
};

// The function of a step (Step::run) that computes rows.
struct FunctionOfRows {
  std::function<absl::Status(const StepContext&)> run;
  StepRows rows;

  absl::Status operator()(const StepContext& context) const { return run(context); }
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_STEP_ROWS_H_
