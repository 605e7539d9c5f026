// The products of a float program whose weights its simulation quantizes.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_WEIGHT_LAYERS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_WEIGHT_LAYERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

// Ops and arguments are those of the float program, the site is of the simulated one.
struct WeightLayer {
  const Op* product = nullptr;
  const Argument* activation = nullptr;
  const Argument* weight = nullptr;  // a parameter that nothing else reads
  const Argument* sums = nullptr;    // what the product writes
  std::string simulated_activation;  // the variable that the simulated product reads
  QuantizationSite site;             // of the weight
  const Argument* bias = nullptr;    // a parameter that nothing else reads; null: there is none
  const Argument* biased = nullptr;  // what is written after the bias; null: there is no bias
  int channel_axis = 0;              // of that and of the sums
  std::vector<const Op*> ops;        // the product, the sum with its bias, a function
  const Argument* result = nullptr;  // of the last of them
};

// In the order of the float program, block 0. The products of both programs are found by the
// variables that they write. The function is the only reader of what is before it. Errors: those
// of FindQuantizationSites. Linear in both programs.
absl::StatusOr<std::vector<WeightLayer>> FindWeightLayers(const NetworkPair& networks,
                                                          const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_WEIGHT_LAYERS_H_
