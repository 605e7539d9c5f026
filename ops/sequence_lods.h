// The offsets that ops over sequences give their outputs, and the pieces of rows that these are
// made of.

#ifndef FIXPOINT_OPS_SEQUENCE_LODS_H_
#define FIXPOINT_OPS_SEQUENCE_LODS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/lod.h"

namespace fixpoint {

// An output that consists of pieces of the rows of an input, one after the other.
struct Pieces {
  std::vector<Sequence> pieces;
  LoD lod;  // of the output

  int64_t rows() const;
};

// A level that cuts rows into sequences of these lengths, none of which is negative.
std::vector<uint64_t> OffsetsOf(absl::Span<const int64_t> lengths);

// sequence_expand: the i-th sequence of X, or its i-th row where X has no offsets, as often as the
// i-th sequence of Y at `ref_level` is long; -1 is the last level. Errors (kInvalidArgument): Y has
// no such level, or not as many sequences in it as X has; there are 2^25 rows or more.
absl::StatusOr<Pieces> ExpandedPieces(DimsView x, const LoD& x_lod, DimsView y, const LoD& y_lod,
                                      int64_t ref_level);

// sequence_expand_as: the i-th row of X as often as the i-th sequence of Y has rows. Errors
// likewise.
absl::StatusOr<Pieces> ExpandedAsPieces(DimsView x, DimsView y, const LoD& y_lod);

// The rows at which the sequences of a level begin, and their end. Error (kInvalidArgument): there
// is no such level, or it does not cut what is below it.
absl::StatusOr<std::vector<uint64_t>> RowOffsets(absl::string_view slot, DimsView dims,
                                                 const LoD& lod, int64_t level);

// sequence_reshape: the offsets where rows of `width` become rows of `new_width`. Error
// (kInvalidArgument): a sequence does not fill whole rows.
absl::StatusOr<LoD> ReshapedLod(absl::Span<const Sequence> sequences, int64_t width,
                                int64_t new_width);

// lod_reset: levels of X [rows, ...] when the last one is given; with `append`, below those that it
// has. Error (kInvalidArgument): the offsets do not ascend from 0 to the number of rows.
absl::StatusOr<LoD> ResetLod(DimsView x, const LoD& x_lod, absl::Span<const int64_t> offsets,
                             bool append);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SEQUENCE_LODS_H_
