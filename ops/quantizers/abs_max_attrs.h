// Attributes that the reference's symmetric fake-quantize and dequantize ops share.

#ifndef FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_
#define FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_

#include <vector>

#include "ops/quant_math.h"
#include "proto/attributes.h"
#include "proto/program.pb.h"
#include "proto/quant_config.pb.h"

namespace fixpoint {

// bit_length, and round_type where it is not what the op of that era does by itself.
inline std::vector<OpDesc::Attr> SymmetricQuantizeAttrs(const QuantSpec& spec) {
  std::vector<OpDesc::Attr> attrs = {MakeIntAttr("bit_length", BitLength(spec))};
  if (spec.rounding() == QuantSpec::HALF_TO_EVEN) attrs.push_back(MakeIntAttr("round_type", 0));
  return attrs;
}

// max_range of fake_dequantize_max_abs: the largest code.
inline std::vector<OpDesc::Attr> SymmetricDequantizeAttrs(const QuantSpec& spec) {
  return {MakeFloatAttr("max_range", static_cast<float>(LargestCode(BitLength(spec))))};
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_ABS_MAX_ATTRS_H_
