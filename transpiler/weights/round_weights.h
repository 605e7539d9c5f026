// AdaRound (Nagel et al., 2020, arXiv 2004.10568): each weight is rounded up or down, whichever way
// changes less what its product computes, rather than to the nearest code. Learned product by
// product, in the order of the program.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_ROUND_WEIGHTS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_ROUND_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

struct RoundOptions {
  int64_t steps = 2000;  // for each product
  int64_t batch_size = 32;
  // Of Adam. The paper takes 1e-3 for 10,000 steps and more.
  double learning_rate = 1e-2;
  // What makes every weight decide: lambda * sum(1 - |2h - 1|^beta), where h is how far a weight is
  // rounded up, and beta falls along half a cosine after the first part of the steps, which is
  // without this term.
  double lambda = 0.01;
  double first_beta = 20;
  double last_beta = 2;
  double steps_without = 0.2;  // a part of them
  uint64_t seed = 0;           // of the samples of each step
  // Bytes of what a product reads and computes for all samples. Where they are more, fewer samples
  // are learned from.
  int64_t most_bytes = int64_t{1} << 30;
  // A folder in which what was learned is kept (kept_codes.h), so that a product learns nothing
  // again that follows from the same samples, parameters and options; "": nowhere.
  std::string kept;
};

// What decides what is learned, in words.
std::string TextOf(const RoundOptions& options);

struct RoundedLayer {
  std::string output;  // the variable that the product writes
  std::string weight;
  // Why its weights are still rounded to the nearest codes; "": they are not.
  std::string why_not;
  int64_t elements = 0;
  int64_t changed = 0;  // whose code is not the nearest
  // Mean square of what its result differs by from that of the float program, for one element.
  double nearest_error = 0;
  double learned_error = 0;
};

// Learns how the weights of the simulated program's products are rounded, and sets them in its
// parameters to the floats that the learned codes stand for: whatever rounds them to the nearest
// codes then finds these, in the ranges that it found before. A product learns to compute from what
// the simulated program gives it, with the weights rounded so far, what the float program computes,
// after its bias and its activation function where nothing else reads what is between. A product
// whose error that would not lower stays as it was. Both programs stay as they are.
//
// Errors: kInvalidArgument: an option that is not above 0, or a part that is not from 0 to 1; those
// of FindQuantizationSites, of samples, of KeptCodes, and of Executor::Create and Run. The
// parameters may then have some of the new weights.
absl::StatusOr<std::vector<RoundedLayer>> RoundWeights(const NetworkPair& networks,
                                                       const RoundOptions& options,
                                                       const MethodRun& run);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_ROUND_WEIGHTS_H_
