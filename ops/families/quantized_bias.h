// The ops of a bias that is added to sums of products of codes, a part of simulated quantization.

#ifndef FIXPOINT_OPS_FAMILIES_QUANTIZED_BIAS_H_
#define FIXPOINT_OPS_FAMILIES_QUANTIZED_BIAS_H_

#include "ops/op_schema_builder.h"

namespace fixpoint {

void DefineBiasQuantizers(OpList& ops);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_QUANTIZED_BIAS_H_
