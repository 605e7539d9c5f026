// Attributes that the reference's symmetric fake-quantize and dequantize ops share.

#ifndef FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_
#define FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_

#include "ops/code_range.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/op_builder.h"

namespace fixpoint {

// bit_length, and round_type if it is not the default of the op in that era.
inline void AddSymmetricQuantizeAttrs(const QuantSpec& spec, OpBuilder& op) {
  op.IntAttr("bit_length", BitLength(spec));
  if (spec.rounding() == QuantSpec::HALF_TO_EVEN) {
    op.IntAttr("round_type", RoundTypeOf(spec.rounding()));
  }
}

// max_range of fake_dequantize_max_abs: the largest code.
inline void AddSymmetricDequantizeAttrs(const QuantSpec& spec, OpBuilder& op) {
  op.FloatAttr("max_range", static_cast<float>(CodeRangeOf(spec).largest));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_
