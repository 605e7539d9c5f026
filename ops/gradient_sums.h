// Gradients that several ops contribute to: each part gets a name of its own, and the sum gets the
// gradient's name.

#ifndef FIXPOINT_OPS_GRADIENT_SUMS_H_
#define FIXPOINT_OPS_GRADIENT_SUMS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct SummedGradients {
  std::vector<OpDesc> ops;
  absl::flat_hash_map<std::string, std::string> part_of;  // the gradient, by the name of a part
};

// Inserts the sums of `gradients` into the gradient ops of a block: before the first op that reads
// a gradient after several parts were written, else after all ops. An op that reads what it writes
// adds no part. A gradient of `given` has its first part, under its own name, before the ops begin.
// The other parts of g are named g@RENAME@block<block>@0, ...@1, and so on. Linear in the ops.
SummedGradients SumGradients(std::vector<OpDesc> ops,
                             const absl::flat_hash_set<std::string>& gradients,
                             const absl::flat_hash_set<std::string>& given, int block);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GRADIENT_SUMS_H_
