// Level-of-detail offsets: how the rows of a tensor are cut into sequences.

#ifndef FIXPOINT_OPS_LOD_H_
#define FIXPOINT_OPS_LOD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"

namespace fixpoint {

// For each level of nested sequences, outermost first, the offsets at which its sequences start,
// and the end of the last: {{0, 2, 3}} is a sequence of rows 0 and 1 and one of row 2. The offsets
// of an outer level count the sequences of the next one. Nothing is checked.
using LoD = std::vector<std::vector<uint64_t>>;

// Rows [begin, end) of a tensor.
struct Sequence {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t length() const { return end - begin; }
};

// The sequences of the last level, on which ops over sequences work, of the input in `slot`. Error
// (kInvalidArgument): it has no offsets, or they do not cut its rows.
absl::StatusOr<std::vector<Sequence>> SequencesOf(absl::string_view slot, DimsView dims,
                                                  const LoD& lod);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_LOD_H_
