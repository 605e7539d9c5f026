#include "tests/hostile/hostile_case.h"

#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/text/program_text.h"
#include "proto/wire/program.pb.h"
#include "runtime/npz.h"
#include "runtime/scope.h"
#include "runtime/tensor_stream.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/open_ends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardInput[] = "standard input";

absl::StatusOr<std::string> ParametersBytes(const std::string& text, absl::string_view name) {
  ASSIGN_OR_RETURN(const Scope scope, ParseParameters(text, name));
  std::string bytes;
  for (const auto& [variable, value] : scope) {
    const auto& tensor = std::get<Tensor>(value);
    bytes += TensorStreamHeader(tensor);
    bytes.append(tensor.bytes().begin(), tensor.bytes().end());
  }
  return bytes;
}

absl::StatusOr<std::string> NpzBytes(const std::string& text, absl::string_view name) {
  ASSIGN_OR_RETURN(const Scope scope, ParseParameters(text, name));
  std::string bytes;
  RETURN_IF_ERROR(WriteNpz(scope, [&](absl::string_view piece) {
    absl::StrAppend(&bytes, piece);
    return absl::OkStatus();
  }));
  return bytes;
}

std::string Nested(const std::string& text, int depth) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::string nested;
  for (size_t line = 0; line < 2 && line < lines.size(); ++line) {
    for (int i = 0; i < depth && !lines[line].empty(); ++i) {
      absl::StrAppend(&nested,
                      absl::StrReplaceAll(lines[line], {{"{i}", absl::StrCat(i)},
                                                        {"{i-1}", absl::StrCat(i - 1)},
                                                        {"\\n", "\n"}}),
                      "\n");
    }
  }
  return nested;
}

// The bytes of a file of the given kind ("hex", ""), whose name is for messages.
absl::StatusOr<std::string> BytesOf(absl::string_view kind, const std::string& text,
                                    absl::string_view name) {
  if (kind.empty()) return text;
  if (kind == "hex") return HexBytes(absl::StrReplaceAll(text, {{"\n", " "}}));
  if (kind == "parameters") return ParametersBytes(text, name);
  if (kind == "npz") return NpzBytes(text, name);
  if (kind == "gzip") return GzipBytes(text);
  if (kind == "binary") {
    ASSIGN_OR_RETURN(const ProgramDesc program, ParseProgramText(text, name));
    return program.SerializePartialAsString();
  }
  int depth = 0;
  if (absl::ConsumePrefix(&kind, "nested ") && absl::SimpleAtoi(kind, &depth)) {
    return Nested(text, depth);
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": unknown kind ", kind));
}

absl::Status WriteFile(const HostileFile& file, const TemporaryFolder& folder,
                       RunBinaryOptions* options) {
  std::pair<std::string, std::string> link = absl::StrSplit(file.header, " -> ");
  if (!link.second.empty()) {
    fs::create_symlink(link.second, folder.Path(link.first));
    return absl::OkStatus();
  }
  std::string name = file.header;
  std::string kind;
  const size_t opening = name.rfind(" (");
  if (opening != std::string::npos && absl::EndsWith(name, ")")) {
    kind = name.substr(opening + 2, name.size() - opening - 3);
    name.resize(opening);
  }
  if (absl::EndsWith(name, "/")) {
    fs::create_directories(folder.Path(name));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(kind, file.text, file.header));
  if (name == kStandardInput) {
    options->input = bytes;
  } else {
    folder.Write(name, bytes);
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> Contents(const TemporaryFolder& folder) {
  std::map<std::string, std::string> contents;
  for (const std::string& file : folder.Files()) {
    // A link may lead nowhere.
    contents[file] = fs::exists(folder.Path(file)) ? folder.Read(file) : "";
  }
  return contents;
}

void PrintFiles(const std::vector<HostileFile>& files, std::string* text) {
  for (const HostileFile& file : files) {
    absl::StrAppend(text, "---- ", file.header, "\n", file.text);
  }
}

}  // namespace

absl::StatusOr<HostileTable> ParseHostileTable(absl::string_view text, absl::string_view name) {
  HostileTable table;
  std::string* section = nullptr;  // what lines are added to
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    HostileCase* last = table.cases.empty() ? nullptr : &table.cases.back();
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "==== ")) {
      table.cases.emplace_back().title = std::string(rest);
      section = nullptr;
    } else if (absl::ConsumePrefix(&rest, "---- ")) {
      if (last != nullptr && absl::ConsumePrefix(&rest, "exit ")) {
        if (!absl::SimpleAtoi(rest, &last->exit_code)) {
          return absl::InvalidArgumentError(absl::StrCat(name, ": \"", line, "\""));
        }
        section = &last->error;
      } else if (last != nullptr && rest == "prints") {
        section = &last->output;
      } else {
        std::vector<HostileFile>& files = last == nullptr ? table.common : last->files;
        files.push_back({std::string(rest), ""});
        section = &files.back().text;
      }
    } else if (section != nullptr) {
      absl::StrAppend(section, line, "\n");
    } else if (last != nullptr && last->command.empty() && absl::ConsumePrefix(&rest, "$ ")) {
      last->command = std::string(rest);
    } else if (last == nullptr && absl::StartsWith(line, "#")) {
      absl::StrAppend(&table.comment, line, "\n");
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, ": \"", line, "\" stands nowhere"));
    }
  }
  return table;
}

std::string PrintHostileTable(const HostileTable& table) {
  std::string text = table.comment;
  PrintFiles(table.common, &text);
  for (const HostileCase& c : table.cases) {
    absl::StrAppend(&text, "==== ", c.title, "\n$ ", c.command, "\n");
    PrintFiles(c.files, &text);
    absl::StrAppend(&text, "---- exit ", c.exit_code, "\n", c.error);
    if (!c.output.empty()) absl::StrAppend(&text, "---- prints\n", c.output);
  }
  return text;
}

namespace {

// Without the lines that only some machines print.
std::string WithoutNotesOnTheMachine(absl::string_view error) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(error, '\n')) {
    if (absl::StrContains(line, ": slower than in float on this machine")) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", line);
  }
  return text;
}

}  // namespace

absl::StatusOr<HostileCase> RunHostileCase(const HostileTable& table, const HostileCase& wanted) {
  const TemporaryFolder folder;
  RunBinaryOptions options;
  options.callers_directory = folder.Path();
  for (const auto* files : {&table.common, &wanted.files}) {
    for (const HostileFile& file : *files) RETURN_IF_ERROR(WriteFile(file, folder, &options));
  }
  const std::map<std::string, std::string> before = Contents(folder);
  std::vector<std::string> words = absl::StrSplit(wanted.command, ' ');
  const std::string tool = absl::StrCat("tools/", words.front());
  words.erase(words.begin());
  const BinaryRun run = RunBinary(tool, words, options);
  if (run.exit_code != 0 && Contents(folder) != before) {
    return absl::InternalError(absl::StrCat(wanted.title, ": the folder was changed"));
  }
  HostileCase made = wanted;
  made.exit_code = run.exit_code;
  made.error = WithOpenEndsOf(wanted.error, WithoutNotesOnTheMachine(run.err));
  made.output = run.out;
  return made;
}

}  // namespace fixpoint
