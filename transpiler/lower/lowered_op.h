// What became of an op of a portable program.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_

#include <string>

namespace fixpoint {

enum class LoweringReason;  // transpiler/lower/lowering_reasons.h

struct LoweredOp {
  int block;
  int op;  // its index in the portable program
  std::string type;
  std::string output;  // the first one; "" for an op without
  LoweringReason reason;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_
