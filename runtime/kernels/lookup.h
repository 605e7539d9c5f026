// Rows of a table, and their gradient.

#ifndef FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_
#define FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {

// table [rows, width].
struct TableShape {
  int64_t rows = 1;
  int64_t width = 1;
  // An id whose row counts as 0; -1: there is none. It need not be one of the rows.
  int64_t padding = -1;
};

// Error (kInvalidArgument): an id is neither a row nor the padding.
absl::Status CheckIds(const TableShape& shape, absl::Span<const int64_t> ids);

// out [ids, width] is the row of each id. REQUIRES, here and below: CheckIds is ok, and the sizes
// are the shape's.
void LookUp(const TableShape& shape, absl::Span<const float> table, absl::Span<const int64_t> ids,
            absl::Span<float> out);
// dtable is the sum, row by row, of what was looked up there, in the order of the ids.
void LookUpBackward(const TableShape& shape, absl::Span<const int64_t> ids,
                    absl::Span<const float> dout, absl::Span<float> dtable);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_
