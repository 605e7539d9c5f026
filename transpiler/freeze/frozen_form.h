// How a frozen program represents what was quantized, and what that saves.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FROZEN_FORM_H_
#define FIXPOINT_TRANSPILER_FREEZE_FROZEN_FORM_H_

#include <cstdint>

namespace fixpoint {

enum class FrozenForm {
  kPortable,    // int8 weights; quantize_linear and dequantize_linear around ops that stay float
  kLegacy,      // codes as FP32 values, and one dequantize op after each product
  kLegacyInt8,  // the same with codes stored as INT8, as the reference's convert_to_int8
};

// Weights that became codes.
struct QuantizedWeights {
  int count = 0;
  int64_t float_bytes = 0;
  int64_t code_bytes = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FROZEN_FORM_H_
