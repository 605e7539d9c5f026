// Tensors as pieces of their rows, with the offsets that cut these.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_PIECES_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/reference/array.h"

namespace fixpoint::reference {

// Entries [begin, end) of a tensor, sequences at `level` or, where there is no such level, rows;
// with the offsets below. REQUIRES: CheckLod.
Array Piece(const Array& x, size_t level, int64_t begin, int64_t end);

// Appends a piece. Error (kInvalidArgument): it is of another type, or has other levels.
absl::Status Append(const Array& piece, Array* joined);

// No rows of a tensor's kind, cut into no sequences.
Array NoneOf(const Array& x, size_t levels);

// Error (kInvalidArgument): a level of offsets does not cut the next one, or the last one the rows.
absl::Status CheckLod(absl::string_view slot, const Array& x);

// The sequences at a level or, where there is no such level, the rows.
int64_t EntryCount(const Array& x, size_t level);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_PIECES_H_
