// What an op is for quantization; its schema says it (OpSchema::quant_op).

#ifndef FIXPOINT_OPS_QUANT_OP_H_
#define FIXPOINT_OPS_QUANT_OP_H_

namespace fixpoint {

// The part that an op plays in quantization, or in its simulation.
enum class QuantOp {
  kNone,
  kQuantize,            // floats to codes, whatever type holds them
  kDequantize,          // codes to floats
  kQuantizeDequantize,  // both: rounds floats to those that codes stand for
  kObserve,             // follows a range, and passes the values on
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANT_OP_H_
