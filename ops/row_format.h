// The formats of rows of codes, each with its own range beside them, and how lookup_table_dequant
// says which one its rows have. runtime/row_formats.h makes and reads them.

#ifndef FIXPOINT_OPS_ROW_FORMAT_H_
#define FIXPOINT_OPS_ROW_FORMAT_H_

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

inline constexpr char kRowFormatAttr[] = "row_format";
// The one format that the reference has, and the attribute's default.
inline constexpr absl::string_view kPaddleRows = "paddle_dequant";

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ROW_FORMAT_H_
