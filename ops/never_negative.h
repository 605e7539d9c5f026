// Which values of a program have no negative elements, whatever is fed: what unsigned codes hold.

#ifndef FIXPOINT_OPS_NEVER_NEGATIVE_H_
#define FIXPOINT_OPS_NEVER_NEGATIVE_H_

#include "absl/container/flat_hash_map.h"
#include "ops/era.h"
#include "proto/program.h"

namespace fixpoint {

// Remembers what it found, so that asking of all values is linear in the program, which must not
// change meanwhile.
class NeverNegative {
 public:
  // Of a program of that era.
  explicit NeverNegative(Era era) : era_(era) {}

  // Whether every element is at least 0, or NaN: of relu, say, of what keeps its values, and of
  // sums and averages of those.
  bool Holds(const Value& value);

 private:
  const Era era_;
  absl::flat_hash_map<const Value*, bool> known_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_NEVER_NEGATIVE_H_
