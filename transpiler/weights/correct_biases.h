// Bias correction (Nagel et al., 2019, arXiv 1906.04721, appendix D): by how much quantization
// moves the mean of a product's channel is taken off its bias.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_CORRECT_BIASES_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_CORRECT_BIASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

struct CorrectedBias {
  std::string output;  // the variable that holds the sum with the bias
  std::string bias;
  double largest_shift = 0;  // by magnitude, of all channels
};

// Adds to the biases of the simulated program's parameters, product by product in the order of the
// program, the mean over samples and positions of what the float program computes for a channel
// minus what the simulated one does, with the biases corrected so far. Products whose bias is no
// parameter, or one that something else reads too, are left alone: `add_biases` (PrepareOptions)
// gives one to those that have none. Both programs stay as they are.
//
// Errors: kInvalidArgument: a mean that is not finite; those of FindQuantizationSites, of samples,
// and of Executor::Create and Run. The parameters may then have some of the new biases.
absl::StatusOr<std::vector<CorrectedBias>> CorrectBiases(const NetworkPair& networks,
                                                         const MethodRun& run);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_CORRECT_BIASES_H_
