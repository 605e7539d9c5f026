// Values that are held as codes with a step and a zero point for each row.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_CODES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_CODES_H_

#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Row major, INT8.
struct RowCodes {
  Buffer codes;
  Buffer scales;
  Buffer zero_points;  // INT32
  int axis = 0;        // of the rows
};

// The codes of an input; null if it is not held as such codes.
const RowCodes* FindRowCodes(const OpPlanner& op, absl::string_view slot);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_CODES_H_
