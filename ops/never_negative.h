// Finds the values of a program that have no negative elements, whatever is fed: those that
// unsigned codes can hold.

#ifndef FIXPOINT_OPS_NEVER_NEGATIVE_H_
#define FIXPOINT_OPS_NEVER_NEGATIVE_H_

#include "absl/container/flat_hash_map.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Caches its answers, so that asking about all values is linear in the program, which must not
// change meanwhile.
class NeverNegative {
 public:
  // `era`: that of the program.
  explicit NeverNegative(Era era) : era_(era) {}

  // Whether every element is at least 0, or NaN: for example after a relu, ops that keep its
  // values, and sums and averages of such values.
  bool Holds(const Value& value);

 private:
  const Era era_;
  absl::flat_hash_map<const Value*, bool> known_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_NEVER_NEGATIVE_H_
