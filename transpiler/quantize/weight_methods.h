// Which methods change weights and biases before a network is quantized.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_WEIGHT_METHODS_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_WEIGHT_METHODS_H_

#include <cstdint>
#include <optional>

#include "transpiler/weights/round_weights.h"
#include "transpiler/weights/smooth_activations.h"

namespace fixpoint {

// Methods that change parameters so that quantizing loses less (docs/weights.md), on samples; that
// which needs none is PrepareOptions::equalize_weights.
struct WeightMethods {
  std::optional<SmoothOptions> smooth;   // of the float network, before ranges are found
  std::optional<RoundOptions> rounding;  // learned, for the plan that was found
  bool correct_biases = false;
  int64_t samples = 1024;  // at least, in whole batches, if there are as many
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_WEIGHT_METHODS_H_
