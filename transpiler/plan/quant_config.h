// What can be wrong with a configuration, whatever the program is.

#ifndef FIXPOINT_TRANSPILER_PLAN_QUANT_CONFIG_H_
#define FIXPOINT_TRANSPILER_PLAN_QUANT_CONFIG_H_

#include "absl/status/status.h"
#include "proto/config/quant_config.pb.h"

namespace fixpoint {

// Error (kInvalidArgument), with all complaints: also_quantize names an unknown op type, or one
// without an input that can be quantized; an axis is negative.
absl::Status CheckConfig(const QuantConfig& config);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_QUANT_CONFIG_H_
