// Ops that people write in files of their own: whether a schema has the names that they use.

#ifndef FIXPOINT_OPS_WRITTEN_OP_H_
#define FIXPOINT_OPS_WRITTEN_OP_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"

namespace fixpoint {

struct WrittenOp {
  absl::string_view type;
  std::vector<absl::string_view> inputs;  // slots
  std::vector<absl::string_view> outputs;
  std::vector<absl::string_view> attributes;
};

// Error (kInvalidArgument), without the place: there is no such op, or it runs a block; it has no
// such slot or attribute in the era. The message says what there is.
absl::Status CheckNames(const WrittenOp& op, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_WRITTEN_OP_H_
