// Sequences of different lengths in arrays, which have no offsets of their own. The rows of all
// sequences of an array `x` lie one after another; another array says where they are cut:
//
//   x.lod      offsets, INT64 [n + 1], from 0 to the number of rows; of nested sequences
//   [levels,m],
//              a row for each level, the coarsest first, filled up with -1; without elements, the
//              rows of x are no sequences
//   x.lengths  lengths, INT64 or INT32 [n]

#ifndef FIXPOINT_RUNTIME_DATA_SEQUENCE_OFFSETS_H_
#define FIXPOINT_RUNTIME_DATA_SEQUENCE_OFFSETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/lod.h"
#include "runtime/tensor.h"

namespace fixpoint {

inline constexpr char kLodSuffix[] = ".lod";
inline constexpr char kLengthsSuffix[] = ".lengths";

// The offsets that an array `x.lod` or `x.lengths` holds for an array x of `rows` rows.
// kInvalidArgument: it has another type or other extents than above, or does not cut the rows.
absl::StatusOr<LoD> LodFromOffsets(const Tensor& offsets, int64_t rows);
absl::StatusOr<LoD> LodFromLengths(const Tensor& lengths, int64_t rows);

// The sequences of the coarsest level with these indices, one after another.
struct ChosenSequences {
  LoD lod;
  std::vector<Sequence> rows;  // of each in the whole array
};
ChosenSequences Choose(const LoD& lod, absl::Span<const int64_t> sequences);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_SEQUENCE_OFFSETS_H_
