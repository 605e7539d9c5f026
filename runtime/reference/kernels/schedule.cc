// What a training schedule switches on at a step.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<bool> HasBegun(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Step", 1));
  return ToInt(op.Input("Step")[0]) >= op.Int("from_step");
}

Array Zeros(Array like) {
  std::fill(like.values.begin(), like.values.end(), 0.0);
  return like;
}

absl::Status Select(OpRun& op) {
  ASSIGN_OR_RETURN(const bool has_begun, HasBegun(op));
  const Array* x = op.FindInput("X");
  const Array* before = op.FindInput("Before");
  if (x == nullptr && before == nullptr) {
    return absl::InvalidArgumentError("inputs X and Before are absent; want one of them, or both");
  }
  if (const Array* const chosen = has_begun ? x : before; chosen != nullptr) {
    op.SetCutOutput("Out", *chosen);
  } else {
    op.SetOutput("Out", Zeros(x != nullptr ? *x : *before));
  }
  return absl::OkStatus();
}

absl::Status SelectGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const bool has_begun, HasBegun(op));
  const Array& dout = op.Input("Out@GRAD");
  op.SetOutput("X@GRAD", has_begun ? dout : Zeros(dout));
  op.SetOutput("Before@GRAD", has_begun ? Zeros(dout) : dout);
  return absl::OkStatus();
}

}  // namespace

Kernels ScheduleKernels() {
  return {{"select_from_step", Select}, {"select_from_step_grad", SelectGradient}};
}

}  // namespace fixpoint::reference
