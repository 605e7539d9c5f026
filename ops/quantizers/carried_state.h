// State that an op of the schemas carries from step to step.

#ifndef FIXPOINT_OPS_QUANTIZERS_CARRIED_STATE_H_
#define FIXPOINT_OPS_QUANTIZERS_CARRIED_STATE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "ops/quantizer.h"

namespace fixpoint {

// A persistable [1] in slot `output` of an op, and in the input that the op's schema pairs with it.
// REQUIRES: the op type has a schema.
inline QuantizerState CarriedState(const std::string& name, absl::string_view op_type,
                                   const std::string& output) {
  QuantizerState state;
  state.name = name;
  state.output = output;
  state.training_only = true;
  for (const StateSlots& slots : FindOpSchema(op_type)->training_state()) {
    if (slots.output == output) state.input = slots.input;
  }
  return state;
}

// The same for a state that inference reads too, and that is the scale.
inline QuantizerState CarriedScale(absl::string_view op_type) {
  QuantizerState scale = CarriedState("scale", op_type, "OutScale");
  scale.is_scale = true;
  scale.training_only = false;
  return scale;
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_CARRIED_STATE_H_
