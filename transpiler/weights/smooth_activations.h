// SmoothQuant (Xiao et al., 2022, arXiv 2211.10438): what products read is divided, and their
// weights are multiplied, by a factor for each channel, so that channels with large values no
// longer decide the range of all.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_SMOOTH_ACTIVATIONS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_SMOOTH_ACTIVATIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

struct SmoothOptions {
  // How much of the spread goes into the weights: 0 none, 1 all.
  double alpha = 0.5;
};

// A value whose channels were divided.
struct SmoothedValue {
  std::string variable;
  int products = 0;  // that read it
  // The largest magnitude of the value, beside the mean of those of its channels, before and after.
  double spread_before = 1;
  double spread_after = 1;
};

// Changes the parameters of a float program so that it computes the same, but for the rounding of
// floats: a value is divided by s = max|X_c|^alpha / max|W_c|^(1 - alpha) of each channel c, where
// X are the samples and W all the weights that read it (1 where either maximum is 0). The division
// goes into the parameters of the op that computes it, where there is one that
// FindScalableChannels (transpiler/prepare/scalable_channels.h) knows: a layer norm, or a product,
// perhaps before functions that scale with their argument. Values with others are left as they are.
//
// Errors: kInvalidArgument: alpha is not from 0 to 1; a value that is not finite; those of samples
// and of Executor::Create and Run. The parameters are then as before.
absl::StatusOr<std::vector<SmoothedValue>> SmoothActivations(const Program& network,
                                                             Scope* parameters,
                                                             const SmoothOptions& options,
                                                             const MethodRun& run);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_SMOOTH_ACTIVATIONS_H_
