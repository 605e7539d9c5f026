// The step of ops that only move elements.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_COPY_STEP_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_COPY_STEP_H_

#include <memory>

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {

// Adds the step that copies elements of that type. Error (kUnimplemented): that of WithElementType.
inline absl::Status AddCopy(OpPlanner& op, VarType::Type dtype,
                            const std::shared_ptr<kernels::StridedCopy>& copy, Buffer from,
                            Buffer to) {
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{from}, {to}, [=](const StepContext& run) {
                  copy->Run<T>(run.Of<T>(from), run.Of<T>(to));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_COPY_STEP_H_
