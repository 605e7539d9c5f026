#include "proto/program_file.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/atomic_file.h"
#include "proto/deterministic_bytes.h"
#include "proto/foreign_file.h"
#include "proto/gzip.h"
#include "proto/input_file.h"
#include "proto/legacy_layout.h"
#include "proto/program_text.h"
#include "proto/required_fields.h"
#include "proto/status_macros.h"
#include "proto/text_message.h"
#include "proto/text_scanner.h"
#include "proto/wire_damage.h"

namespace fixpoint {
namespace {

// Protobuf counts bytes in an int.
constexpr size_t kMaxBytes = std::numeric_limits<int>::max();

// Every text form is free of control characters; a binary program has some in each block.
bool IsText(absl::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  });
}

// Protobuf's text begins with a field: `blocks {`, `version: {`. Both text forms have the same
// comments.
bool IsProtobufText(absl::string_view text) {
  TextScanner scanner(text);
  scanner.SkipLineEnds();
  const google::protobuf::Descriptor& descriptor = *ProgramDesc::descriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    if (!scanner.AtWord(descriptor.field(i)->name())) continue;
    const char next = scanner.PeekPastName();
    return next == '{' || next == ':' || next == '<';
  }
  return false;
}

absl::Status ParseBinary(absl::string_view bytes, absl::string_view name, LoadedProgram* loaded) {
  // Names may be any bytes; protobuf would warn of those that are not UTF-8.
  google::protobuf::LogSilencer no_warnings;
  if (!loaded->program->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DescribeWireDamage(bytes, name);
  }
  if (HasLegacyLayout(*loaded->program)) {
    ASSIGN_OR_RETURN(*loaded->program, ConvertLegacyLayout(bytes, name));
    loaded->converted = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedProgram> ParsePlainBytes(absl::string_view bytes, absl::string_view name) {
  if (bytes.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has ", bytes.size(), " bytes; expected at most ", kMaxBytes));
  }
  if (bytes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is empty; expected a program"));
  }
  LoadedProgram loaded;
  if (!IsText(bytes)) {
    RETURN_IF_ERROR(RefuseForeignBinary(bytes, name));
    loaded.format = ProgramFormat::kBinary;
    RETURN_IF_ERROR(ParseBinary(bytes, name, &loaded));
  } else if (IsProtobufText(bytes)) {
    loaded.format = ProgramFormat::kProtobufText;
    RETURN_IF_ERROR(ParseTextMessage(bytes, name, &*loaded.program));
  } else {
    RETURN_IF_ERROR(RefuseForeignText(bytes, name));
    loaded.format = ProgramFormat::kText;
    ASSIGN_OR_RETURN(*loaded.program, ParseProgramText(bytes, name));
  }
  RETURN_IF_ERROR(CheckRequiredFields(*loaded.program, name));
  if (loaded.program->blocks().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has no block; expected a serialized program"));
  }
  return loaded;
}

absl::StatusOr<std::string> PrintProtobufText(const ProgramDesc& program, const std::string& name) {
  const std::string text = PrintTextMessage(program);
  ProgramDesc parsed;
  if (!ParseTextMessage(text, name, &parsed).ok() ||
      DeterministicBytes(parsed) != DeterministicBytes(program)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     ": the program has what protobuf's text format loses (unknown fields "
                     "or NaN bits); expected the text form or the binary one"));
  }
  return text;
}

absl::StatusOr<std::string> BinaryBytes(const ProgramDesc& program, const std::string& name) {
  const size_t size = program.ByteSizeLong();
  if (size > kMaxBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": the program has more than the ", kMaxBytes,
                     " bytes that protobuf can express; expected a smaller one"));
  }
  return DeterministicBytes(program, size);
}

absl::StatusOr<std::string> Format(const ProgramDesc& program, ProgramFormat format,
                                   const std::string& name) {
  switch (format) {
    case ProgramFormat::kBinary:
      return BinaryBytes(program, name);
    case ProgramFormat::kText:
      return PrintProgram(program);
    case ProgramFormat::kProtobufText:
      return PrintProtobufText(program, name);
  }
  return absl::InternalError(absl::StrCat(name, ": no such format"));
}

absl::Status WriteToStandardOutput(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("standard output: cannot be written: ",
                   std::error_code(errno, std::generic_category()).message()));
}

}  // namespace

absl::StatusOr<LoadedProgram> ParseProgramBytes(absl::string_view bytes, absl::string_view name,
                                                const ProgramFileLimits& limits) {
  if (!IsGzip(bytes)) return ParsePlainBytes(bytes, name);
  ASSIGN_OR_RETURN(const std::string expanded, Gunzip(bytes, limits.max_expanded_bytes, name));
  if (IsGzip(expanded)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is gzipped twice; expected a program gzipped once"));
  }
  ASSIGN_OR_RETURN(LoadedProgram loaded, ParsePlainBytes(expanded, name));
  loaded.gzipped = true;
  return loaded;
}

absl::StatusOr<LoadedProgram> LoadProgram(const std::string& path,
                                          const ProgramFileLimits& limits) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMaxBytes));
  return ParseProgramBytes(bytes, InputName(path), limits);
}

absl::StatusOr<std::string> SerializeProgram(const ProgramDesc& program, ProgramFormat format,
                                             const std::string& name) {
  RETURN_IF_ERROR(CheckRequiredFields(program, name));
  return Format(program, format, name);
}

absl::Status SaveProgram(const ProgramDesc& program, ProgramFormat format,
                         const std::string& path) {
  const bool to_standard_output = path == "-";
  ASSIGN_OR_RETURN(
      const std::string bytes,
      SerializeProgram(program, format, to_standard_output ? "standard output" : path));
  return to_standard_output ? WriteToStandardOutput(bytes) : WriteFileAtomically(path, bytes);
}

}  // namespace fixpoint
