// Rows of a table, of floats or of codes, and their gradient.

#ifndef FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_
#define FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/row_formats.h"

namespace fixpoint::kernels {

// table [rows, width].
struct TableShape {
  int64_t rows = 1;
  int64_t width = 1;
  // An id whose row counts as 0. It need not be one of the rows.
  std::optional<int64_t> padding;
};

// Error (kInvalidArgument): an id is neither a row nor the padding.
absl::Status CheckIds(const TableShape& shape, absl::Span<const int64_t> ids);

// out [ids, width] is the row of each id. REQUIRES, here and below: CheckIds is ok, and the sizes
// are the shape's.
void LookUp(const TableShape& shape, absl::Span<const float> table, absl::Span<const int64_t> ids,
            absl::Span<float> out);

// The floats that the codes of a table stand for: (code - offset) * scale / largest_code.
struct RowScales {
  absl::Span<const float> scales;     // one, or one for each row
  absl::Span<const int32_t> offsets;  // likewise; none: 0
  int32_t largest_code = 0;
};

// The same for a table of codes: each operation rounded to a float, as when the table is
// dequantized first.
void LookUp(const TableShape& shape, absl::Span<const int8_t> codes, const RowScales& rows,
            absl::Span<const int64_t> ids, absl::Span<float> out);

// The same for a table of packed rows, [rows, width]: minimum, maximum, and then four codes of 8
// bits in the bits of each element (RowFormat::kPaddleDequant). out [ids, 4 * (width - 2)]; each
// operation is rounded to a float.
void LookUpPacked(const TableShape& shape, absl::Span<const float> table,
                  absl::Span<const int64_t> ids, absl::Span<float> out);

// The same for rows [rows, width] of bytes in one of the other formats; out [ids, columns].
void LookUpRows(const TableShape& shape, RowFormat format, absl::Span<const uint8_t> rows,
                absl::Span<const int64_t> ids, absl::Span<float> out);

// Each row of dtable is the sum of the gradients of its lookups, in the order of the ids.
void LookUpBackward(const TableShape& shape, absl::Span<const int64_t> ids,
                    absl::Span<const float> dout, absl::Span<float> dtable);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LOOKUP_H_
