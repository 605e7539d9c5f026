// Which values are weights.

#ifndef FIXPOINT_TRANSPILER_PLAN_PARAMETERS_H_
#define FIXPOINT_TRANSPILER_PLAN_PARAMETERS_H_

#include "absl/container/flat_hash_map.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// A parameter is persistable and written only by ops with the Optimize bit. Whether a framework
// object called it a parameter does not matter: a program loaded from a file has no such objects.
class Parameters {
 public:
  bool IsParameter(const Variable& variable);
  // Whether a value is a parameter's state, a cast of one, or one with factors folded into it
  // (folded_weights.h).
  bool IsWeight(const Value& value);

 private:
  absl::flat_hash_map<const Variable*, bool> known_;
  absl::flat_hash_map<const Value*, bool> made_;  // whether they are made of a parameter
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PARAMETERS_H_
