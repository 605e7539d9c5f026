// Draws the pages of DrawPageToRead: <number>.png, and in <number>.txt the text of each line.
//
//   ./bazelw run //examples/ocr:draw_pages -- /tmp/pages

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/ocr/drawn_page.h"
#include "examples/ocr/image.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "tools/command_line.h"

namespace fixpoint {
namespace ocr {
namespace {

absl::StatusOr<ExitCode> Run(const CommandLine& command_line) {
  if (command_line.arguments.size() != 1) return UsageError("want one folder");
  const std::string& folder = command_line.arguments[0];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return CannotBeWritten(folder, error);
  for (int i = 0; i < kPagesToRead; ++i) {
    const DrawnPage page = DrawPageToRead(i);
    const std::string path = absl::StrCat(folder, "/", i);
    RETURN_IF_ERROR(WritePng(page.image, path + ".png"));
    std::string text;
    for (const DrawnLine& line : page.lines) absl::StrAppend(&text, TextOf(line), "\n");
    RETURN_IF_ERROR(WriteFileAtomically(path + ".txt", text));
  }
  return kDone;
}

}  // namespace
}  // namespace ocr
}  // namespace fixpoint

int main(int argc, char** argv) {
  fixpoint::ToolHelp help;
  help.name = "draw_pages";
  help.purpose = "Draws pages of text.";
  help.usage = {"draw_pages FOLDER    writes images and their text there"};
  return fixpoint::RunTool(argc, argv, help, fixpoint::ocr::Run);
}
