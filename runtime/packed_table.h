// Tables of rows in the formats of row_formats.h, as tensors.

#ifndef FIXPOINT_RUNTIME_PACKED_TABLE_H_
#define FIXPOINT_RUNTIME_PACKED_TABLE_H_

#include "absl/status/statusor.h"
#include "runtime/row_formats.h"
#include "runtime/tensor.h"

namespace fixpoint {

// FP32 [rows, columns] become UINT8 [rows, RowBytes] or, for kPaddleDequant, FP32
// [rows, RowBytes / 4], as the op lookup_table_dequant declares its table. Errors
// (kInvalidArgument): the table is none; those of RowBytes and EncodeRow, with the row.
absl::StatusOr<Tensor> PackTable(const Tensor& table, RowFormat format);
// The way back, to FP32 [rows, MostColumns]. Errors (kInvalidArgument): the table is none; those of
// MostColumns.
absl::StatusOr<Tensor> UnpackTable(const Tensor& packed, RowFormat format);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_PACKED_TABLE_H_
