#include "runtime/packed_table.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"

namespace fixpoint {
namespace {

VarType::Type TypeOfRows(RowFormat format) {
  return format == RowFormat::kPaddleDequant ? VarType::FP32 : VarType::UINT8;
}

absl::Status CheckTable(const Tensor& tensor, VarType::Type dtype) {
  if (tensor.dims().size() == 2 && tensor.dtype() == dtype && tensor.size() > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("holds ", TypeName(tensor.dtype()), " ",
                                                 DimsText(tensor.dims()), "; want ",
                                                 TypeName(dtype), " [rows, columns]"));
}

}  // namespace

absl::StatusOr<Tensor> PackTable(const Tensor& table, RowFormat format) {
  RETURN_IF_ERROR(CheckTable(table, VarType::FP32));
  const int64_t rows = table.dims()[0];
  const auto columns = static_cast<size_t>(table.dims()[1]);
  ASSIGN_OR_RETURN(const size_t row_bytes, RowBytes(format, columns));
  const VarType::Type dtype = TypeOfRows(format);
  ASSIGN_OR_RETURN(
      Tensor encoded,
      Tensor::Allocate(dtype, {rows, static_cast<int64_t>(row_bytes / ElementSize(dtype))}));
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<size_t>(i);
    const absl::Status status =
        EncodeRow(format, table.data<float>().subspan(row * columns, columns),
                  encoded.mutable_bytes().subspan(row * row_bytes, row_bytes));
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("row ", i, ": ", status.message()));
    }
  }
  return encoded;
}

absl::StatusOr<Tensor> UnpackTable(const Tensor& packed, RowFormat format) {
  const VarType::Type dtype = TypeOfRows(format);
  RETURN_IF_ERROR(CheckTable(packed, dtype));
  const int64_t rows = packed.dims()[0];
  const size_t row_bytes = static_cast<size_t>(packed.dims()[1]) * ElementSize(dtype);
  ASSIGN_OR_RETURN(const size_t columns, MostColumns(format, row_bytes));
  ASSIGN_OR_RETURN(Tensor decoded,
                   Tensor::Allocate(VarType::FP32, {rows, static_cast<int64_t>(columns)}));
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    DecodeRow(format, packed.bytes().subspan(row * row_bytes, row_bytes),
              decoded.mutable_data<float>().subspan(row * columns, columns));
  }
  return decoded;
}

}  // namespace fixpoint
