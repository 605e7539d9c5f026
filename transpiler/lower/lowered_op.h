// What became of an op of a portable program.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_

#include <string>

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

struct LoweredOp {
  int block;
  int op;  // its index in the portable program
  std::string type;
  std::string output;  // the first one; "" for an op without
  IntegerReason reason;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWERED_OP_H_
