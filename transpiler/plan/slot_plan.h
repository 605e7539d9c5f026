// How one input of an op will be quantized.

#ifndef FIXPOINT_TRANSPILER_PLAN_SLOT_PLAN_H_
#define FIXPOINT_TRANSPILER_PLAN_SLOT_PLAN_H_

#include <string>

#include "proto/config/quant_spec.pb.h"
#include "proto/config/slot_role.pb.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct SlotPlan {
  const Argument* argument = nullptr;
  SlotRole::Role role = SlotRole::ACTIVATION;
  QuantSpec spec;    // no meaningful field is absent
  std::string rule;  // the last one that asks for the spec; "" for none
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SLOT_PLAN_H_
