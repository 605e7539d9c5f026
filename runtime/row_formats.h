// Rows of a table as codes, each row with its own range beside them (ops/row_format.h): the fused
// row-wise formats of FBGEMM and Glow, and the packed rows that PaddlePaddle's lookup_table_dequant
// reads. All are little-endian; an element is restored in FP32.

#ifndef FIXPOINT_RUNTIME_ROW_FORMATS_H_
#define FIXPOINT_RUNTIME_ROW_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/row_format.h"

namespace fixpoint {

// How many bytes a row of so many elements takes. Error (kInvalidArgument): there is no such row in
// the format: none of no elements, and of kPaddleDequant no other than a multiple of 4.
absl::StatusOr<size_t> RowBytes(RowFormat format, size_t columns);

// The most columns whose rows take so many bytes. Error (kInvalidArgument): there are none.
absl::StatusOr<size_t> MostColumns(RowFormat format, size_t row_bytes);

// Errors (kInvalidArgument): that of RowBytes; an element is not finite, or the row's range exceeds
// what the format's scale holds. REQUIRES: bytes.size() is RowBytes.
absl::Status EncodeRow(RowFormat format, absl::Span<const float> row, absl::Span<uint8_t> bytes);

// REQUIRES: bytes.size() is RowBytes.
void DecodeRow(RowFormat format, absl::Span<const uint8_t> bytes, absl::Span<float> row);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_ROW_FORMATS_H_
