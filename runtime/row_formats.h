// Rows of a table as codes, each row with its own range beside them: the fused row-wise formats of
// FBGEMM and Glow, and the packed rows that PaddlePaddle's lookup_table_dequant reads. All are
// little-endian; an element is restored in FP32.

#ifndef FIXPOINT_RUNTIME_ROW_FORMATS_H_
#define FIXPOINT_RUNTIME_ROW_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

enum class RowFormat {
  // Codes, then scale and minimum as FP32: x = scale * code + min. Of FBGEMM: code = rint((x - min)
  // * (255 / (range + 1e-8))), scale = range / 255.
  kFused8,
  // The same bytes by Glow's rounding: code = round((x - min) / scale), scale 1 where the range is
  // below 1e-10.
  kGlowFused8,
  // Codes of 8, 4 or 2 bits, the first of a byte in its low bits; then scale and minimum as FP16.
  // The minimum is rounded first; scale = fp16(range / (2^bits - 1)), or 1 where it or its inverse
  // is 0 or infinite; code = clamp(rint((x - min) * (1 / scale))).
  kFused8Half,
  kFused4Half,
  kFused2Half,
  // Minimum and maximum as FP32, then codes of 8 bits: x = (max - min) / 256 * code + min. A row is
  // a whole number of FP32s, and so are 4 codes.
  kPaddleDequant,
};

// Every format, with its name: "fused8".
struct NamedRowFormat {
  absl::string_view name;
  RowFormat format;
};
absl::Span<const NamedRowFormat> RowFormats();
// Error (kInvalidArgument): there is no such format; which there are.
absl::StatusOr<RowFormat> RowFormatOf(absl::string_view name);
absl::string_view NameOf(RowFormat format);

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
