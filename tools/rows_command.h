// `inspect rows`: a table of floats as rows of codes, and back.

#ifndef FIXPOINT_TOOLS_ROWS_COMMAND_H_
#define FIXPOINT_TOOLS_ROWS_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

struct RowsCommand {
  std::string table;   // a NumPy array of two dimensions
  std::string format;  // runtime/row_formats.h
  bool decode = false;
  std::string output;  // a NumPy array
};

// Floats [rows, columns] become bytes [rows, RowBytes] or, of paddle_dequant, as the op reads them,
// floats [rows, RowBytes / 4]; with `decode`, the other way, with a column for each code that the
// bytes of a row hold. Errors: usage errors; those of LoadNpy
// and EncodeRow, with the row; kInvalidArgument: the array has other dimensions or elements.
absl::StatusOr<ExitCode> RunRowsCommand(const RowsCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_ROWS_COMMAND_H_
