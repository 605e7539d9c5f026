#include "tools/convert_command.h"

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/file/gzip.h"
#include "proto/file/program_file.h"
#include "tools/named_program.h"
#include "tools/outputs.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kGzipExtension = ".gz";

struct NamedFormat {
  absl::string_view name;  // a value of --to, or a file's name or extension
  ProgramFormat format;
};

constexpr NamedFormat kFormats[] = {{"binary", ProgramFormat::kBinary},
                                    {"text", ProgramFormat::kText},
                                    {"protobuf_text", ProgramFormat::kProtobufText}};
constexpr NamedFormat kFileNames[] = {{"__model__", ProgramFormat::kBinary},
                                      {".pdmodel", ProgramFormat::kBinary},
                                      {".pb", ProgramFormat::kBinary},
                                      {".txt", ProgramFormat::kText},
                                      {".pbtxt", ProgramFormat::kProtobufText},
                                      {".prototxt", ProgramFormat::kProtobufText},
                                      {".textproto", ProgramFormat::kProtobufText}};

absl::StatusOr<ProgramFormat> FormatOf(const ConvertCommand& command) {
  for (const NamedFormat& known : kFormats) {
    if (command.to == known.name) return known.format;
  }
  if (!command.to.empty()) {
    return UsageError(
        absl::StrCat("--to=", command.to, "; there are binary, text and protobuf_text"));
  }
  const std::filesystem::path path(std::string(absl::StripSuffix(command.output, kGzipExtension)));
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  for (const NamedFormat& known : kFileNames) {
    if (name == known.name || extension == known.name) return known.format;
  }
  return UsageError(absl::StrCat("--output=", command.output,
                                 " does not say the form; want --to=binary, --to=text or "
                                 "--to=protobuf_text, or a name that ends in .pdmodel, .txt or "
                                 ".pbtxt"));
}

}  // namespace

absl::StatusOr<ExitCode> RunConvertCommand(const ConvertCommand& command) {
  if (command.output.empty()) {
    return UsageError("convert: want an output: --output=FILE");
  }
  ASSIGN_OR_RETURN(const ProgramFormat format, FormatOf(command));
  const bool is_gzipped = absl::EndsWith(command.output, kGzipExtension);
  ASSIGN_OR_RETURN(const LoadedProgram loaded, LoadProgram(command.program));
  Outputs outputs({command.program});
  RETURN_IF_ERROR(ClaimProgram(command.output, format, &outputs));
  RETURN_IF_ERROR(outputs.Stage(command.output, [&](const ByteSink& sink) -> absl::Status {
    if (!is_gzipped) return WriteProgram(*loaded.program, format, command.output, sink);
    std::string bytes;
    RETURN_IF_ERROR(
        WriteProgram(*loaded.program, format, command.output, [&bytes](absl::string_view piece) {
          absl::StrAppend(&bytes, piece);
          return absl::OkStatus();
        }));
    ASSIGN_OR_RETURN(const std::string gzipped, Gzip(bytes));
    return sink(gzipped);
  }));
  RETURN_IF_ERROR(outputs.Commit());
  if (loaded.converted) {
    WriteNotes(command.program, {"was converted from the layout before February 2018"});
  }
  RETURN_IF_ERROR(
      WriteReport(absl::StrCat("wrote ", command.output, "\n"), outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
