#include "tools/rows_command.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/npy.h"
#include "runtime/packed_table.h"
#include "runtime/row_formats.h"
#include "runtime/tensor.h"
#include "tools/named_program.h"
#include "tools/outputs.h"

namespace fixpoint {

absl::StatusOr<ExitCode> RunRowsCommand(const RowsCommand& command) {
  const absl::StatusOr<RowFormat> format = RowFormatOf(command.format);
  if (!format.ok()) return UsageError(absl::StrCat("--rows: ", format.status().message()));
  if (command.output.empty()) return UsageError("rows: want an output: --output=FILE.npy");
  Outputs outputs({command.table});
  RETURN_IF_ERROR(CheckBinaryOutput(command.output));
  RETURN_IF_ERROR(outputs.Claim(command.output));
  ASSIGN_OR_RETURN(const Tensor table, LoadNpy(command.table));
  const absl::StatusOr<Tensor> made =
      command.decode ? UnpackTable(table, *format) : PackTable(table, *format);
  if (!made.ok()) return InFile(command.table, made.status());
  ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(*made));
  RETURN_IF_ERROR(outputs.Stage(command.output, bytes));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(WriteReport(absl::StrCat("wrote ", command.output, ": ", TypeName(made->dtype()),
                                           " ", DimsText(made->dims()), "\n"),
                              outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
