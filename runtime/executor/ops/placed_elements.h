// The steps of ops whose results hold elements of an input by their places along each axis, and of
// sums along axes, which are the gradients of such ops.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PLACED_ELEMENTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PLACED_ELEMENTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/axis_taps.h"
#include "runtime/kernels/placed_copy.h"

namespace fixpoint::executor {

// Error (kUnimplemented): an axis is longer than what places are planned for, of which every one is
// kept.
absl::Status CheckPlanned(int64_t size);

// Adds the step that copies an input to an output, whose elements are at `places` of each of the
// input's axes; `filling` is where there is none. `out_dims`: the output's, where it lacks axes of
// one element; {}: what the places give.
absl::Status AddPlacedCopy(OpPlanner& op, absl::string_view input, absl::string_view output,
                           const std::vector<kernels::Places>& places, double filling = 0,
                           const Dims& out_dims = {});

// Adds the step that gives each element of the gradient `dx`, of the type `x`, the sum of those of
// `dout` that were copied from it. Error (kInvalidArgument): `dout` does not have an element for
// each that was copied.
absl::Status AddPlacedGradient(OpPlanner& op, absl::string_view dout, absl::string_view dx,
                               const TensorType& x, const std::vector<kernels::Places>& places);

// Sums along an axis.
struct AxisSums {
  int axis;
  kernels::AxisTaps taps;
};
// Adds the step that sums a buffer of those dims along some axes, one after the other. All are in
// the order of memory. Without any it is copied.
void AddAxisSums(OpPlanner& op, Buffer from, Dims dims, const std::vector<AxisSums>& sums,
                 Buffer to);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PLACED_ELEMENTS_H_
