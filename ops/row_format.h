// How lookup_table_dequant says in which format its rows are (runtime/row_formats.h).

#ifndef FIXPOINT_OPS_ROW_FORMAT_H_
#define FIXPOINT_OPS_ROW_FORMAT_H_

namespace fixpoint {

inline constexpr char kRowFormatAttr[] = "row_format";
// The one format that the reference has, and the attribute's default.
inline constexpr char kPaddleRows[] = "paddle_dequant";

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ROW_FORMAT_H_
