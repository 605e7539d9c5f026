// What the quantizers over an exponential moving average share.

#ifndef FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_
#define FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_

#include <string>
#include <vector>

#include "ops/quantizer.h"

namespace fixpoint {

inline std::vector<QuantizerParameter> MovingAverageParameters() {
  return {{"moving_rate", 0.9, 0, 1, "share of what was that a step keeps"},
          {"initial_state", 1, 0, 1,
           "1 counts a first observation of 1.0 that nobody made, as the reference does; 0 does "
           "not"},
          {"initial_scale", 0.001, 0, 1e30, "the scale before the first step"},
          {"skip_non_finite", 0, 0, 1,
           "1: a tensor's NaN and infinities are not observed; the reference observes them",
           /*reference_has_it=*/false}};
}

// A persistable [1] that one variable carries in and out of the quantize op.
inline QuantizerState CarriedState(const std::string& name, const std::string& input,
                                   const std::string& output) {
  QuantizerState state;
  state.name = name;
  state.input = input;
  state.output = output;
  state.training_only = true;
  return state;
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_
