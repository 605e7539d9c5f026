#include "proto/file/program_file.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/foreign_file.h"
#include "proto/file/gzip.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "proto/text/program_text.h"
#include "proto/text/text_scanner.h"
#include "proto/wire/deterministic_bytes.h"
#include "proto/wire/legacy_layout.h"
#include "proto/wire/required_fields.h"
#include "proto/wire/wire_damage.h"

namespace fixpoint {
namespace {

// Protobuf counts bytes in an int.
constexpr size_t kMaxBytes = std::numeric_limits<int>::max();

// How much of a file is serialized before it is written.
constexpr int kPieceBytes = 1 << 17;

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

// Whether text begins as Fixpoint's does: with a keyword, an op's type and its slots, or a quoted
// type.
bool BeginsAsProgramText(absl::string_view text) {
  TextScanner scanner(text);
  scanner.SkipLineEnds();
  for (const char* keyword : {"program", "block", "var"}) {
    if (scanner.AtWord(keyword)) return true;
  }
  return scanner.Peek() == '"' || scanner.PeekPastName() == '(';
}

absl::StatusOr<ProgramDesc> ParseText(absl::string_view text, absl::string_view name) {
  absl::StatusOr<ProgramDesc> program = ParseProgramText(text, name);
  if (program.ok() || BeginsAsProgramText(text)) return program;
  // Every line of what is no program is an error, of which one tells as much as twenty.
  const absl::string_view errors = program.status().message();
  const absl::string_view first = errors.substr(0, errors.find('\n'));
  const bool is_told = absl::StrContains(first, "is not a program");
  return absl::Status(
      program.status().code(),
      absl::StrCat(first, is_told ? "" : "; the file begins as no form of a program does"));
}

// Whether bytes begin with a field of a program, all of which are messages.
bool BeginsAsProgram(absl::string_view bytes) {
  constexpr int kMessageTag = 2;
  const auto tag = static_cast<unsigned char>(bytes[0]);
  return (tag & 7) == kMessageTag &&
         ProgramDesc::descriptor()->FindFieldByNumber(tag >> 3) != nullptr;
}

absl::Status ParseBinary(absl::string_view bytes, absl::string_view name, LoadedProgram* loaded) {
  // Names may be any bytes; protobuf would warn about those that are not UTF-8.
  google::protobuf::LogSilencer no_warnings;
  if (!loaded->program->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BeginsAsProgram(bytes) ? DescribeWireDamage(bytes, name)
                                  : absl::InvalidArgumentError(absl::StrCat(
                                        name,
                                        ": is not a program; expected a binary ProgramDesc, "
                                        "protobuf's text of one or Fixpoint's, gzipped or not"));
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
    ASSIGN_OR_RETURN(*loaded.program, ParseText(bytes, name));
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

// Passes what protobuf writes to a sink, until the sink fails.
class SinkStream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit SinkStream(const ByteSink& sink) : sink_(sink) {}

  bool Write(const void* bytes, int size) override {
    status_ = sink_(absl::string_view(static_cast<const char*>(bytes), static_cast<size_t>(size)));
    return status_.ok();
  }
  const absl::Status& status() const { return status_; }

 private:
  const ByteSink& sink_;
  absl::Status status_;
};

absl::Status WriteBinary(const ProgramDesc& program, const std::string& name,
                         const ByteSink& sink) {
  if (program.ByteSizeLong() > kMaxBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": the program has more than the ", kMaxBytes,
                     " bytes that protobuf can express; expected a smaller one"));
  }
  SinkStream stream(sink);
  {
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, kPieceBytes);
    WriteDeterministically(program, &adaptor);
  }
  return stream.status();
}

// Error (kInvalidArgument): the path is a folder; the message names the program in it.
absl::Status CheckIsNoFolder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return absl::OkStatus();
  std::vector<std::string> programs;
  for (fs::directory_iterator it(path, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const fs::path& file = it->path();
    if (file.filename() == "__model__" || file.extension() == ".pdmodel") {
      programs.push_back(file.string());
    }
  }
  std::sort(programs.begin(), programs.end());
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is a folder; want the file of a program",
                   programs.empty() ? "" : absl::StrCat(", as ", FirstNames(programs))));
}

absl::Status WriteToStandardOutput(absl::string_view bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  return written ? absl::OkStatus() : CannotBeWritten("standard output");
}

}  // namespace

absl::StatusOr<LoadedProgram> ParseProgramBytes(absl::string_view bytes, absl::string_view name,
                                                const ProgramFileLimits& limits) {
  if (!IsGzip(bytes)) return ParsePlainBytes(bytes, name);
  const size_t most = std::min(limits.max_expanded_bytes, MostExpandedBytes(bytes.size()));
  ASSIGN_OR_RETURN(const std::string expanded, Gunzip(bytes, most, name));
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
  RETURN_IF_ERROR(CheckIsNoFolder(path));
  ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMaxBytes));
  return ParseProgramBytes(bytes, InputName(path), limits);
}

absl::Status WriteProgram(const ProgramDesc& program, ProgramFormat format, const std::string& name,
                          const ByteSink& sink) {
  switch (format) {
    case ProgramFormat::kBinary:
      return WriteBinary(program, name, sink);
    case ProgramFormat::kText:
      return sink(PrintProgram(program));
    case ProgramFormat::kProtobufText: {
      ASSIGN_OR_RETURN(const std::string text, PrintProtobufText(program, name));
      return sink(text);
    }
  }
  return absl::InternalError(absl::StrCat(name, ": no such format"));
}

absl::Status SaveProgram(const ProgramDesc& program, ProgramFormat format,
                         const std::string& path) {
  if (path == "-") {
    RETURN_IF_ERROR(CheckRequiredFields(program, "standard output"));
    RETURN_IF_ERROR(WriteProgram(program, format, "standard output", &WriteToStandardOutput));
    return std::fflush(stdout) == 0 ? absl::OkStatus() : CannotBeWritten("standard output");
  }
  RETURN_IF_ERROR(CheckRequiredFields(program, path));
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(WriteProgram(program, format, path,
                               [&](absl::string_view bytes) { return file.Append(bytes); }));
  return file.Commit();
}

}  // namespace fixpoint
