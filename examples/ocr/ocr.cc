// ocr: the text in images, by PP-OCR's networks.

#include <gflags/gflags.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "examples/ocr/image.h"
#include "examples/ocr/recorded_inputs.h"
#include "examples/ocr/text_reader.h"
#include "proto/base/status_macros.h"
#include "tools/command_line.h"

DEFINE_string(det, "", "The network that finds lines: a folder, or files without their endings.");
DEFINE_string(cls, "", "The network that says which lines are upside down; none: no line is.");
DEFINE_string(rec, "", "The network that reads a line.");
DEFINE_string(dictionary, "", "The characters that it reads, one on each line.");
DEFINE_int64(limit_side_len, 960, "Larger images are made smaller before they are searched.");
DEFINE_double(box_thresh, 0.6, "Boxes with a lower mean probability are left out.");
DEFINE_double(unclip_ratio, 1.5, "How far boxes grow around what was found.");
DEFINE_double(drop_score, 0.5, "Lines that are read with a lower probability are left out.");
DEFINE_int32(threads, 1, "Threads for a run of a network.");
DEFINE_string(save_inputs, "", "A folder for what the networks are fed, for `quantize --data`.");

namespace fixpoint {
namespace ocr {
namespace {

// Beyond it a box is larger than any image that its line is in.
constexpr double kMostUnclipRatio = 1000;

absl::Status CheckFlags(const CommandLine& command_line) {
  if (command_line.arguments.empty()) return UsageError("want an image");
  for (const char* flag : {"det", "rec", "dictionary"}) {
    if (!command_line.IsGiven(flag)) return UsageError(absl::StrFormat("--%s is missing", flag));
  }
  RETURN_IF_ERROR(CheckAtLeast("limit_side_len", FLAGS_limit_side_len, 1));
  if (!(FLAGS_unclip_ratio > 0 && FLAGS_unclip_ratio <= kMostUnclipRatio)) {
    return UsageError(absl::StrFormat("--unclip_ratio=%g; want a number above 0, at most %g",
                                      FLAGS_unclip_ratio, kMostUnclipRatio));
  }
  return CheckAtLeast("threads", FLAGS_threads, 1);
}

std::string LineText(const TextLine& line) {
  std::string text;
  for (const Point& corner : line.box) absl::StrAppendFormat(&text, "%g,%g ", corner.x, corner.y);
  absl::StrAppendFormat(&text, "%.3f%s %s\n", line.read.score,
                        line.is_upside_down ? " upside down" : "", line.read.text);
  return text;
}

absl::StatusOr<ExitCode> Run(const CommandLine& command_line) {
  RETURN_IF_ERROR(CheckFlags(command_line));
  RETURN_IF_ERROR(CheckStandardOutput());
  RecordedInputs recorded;
  ReadOptions options;
  options.detection = FLAGS_det;
  options.direction = FLAGS_cls;
  options.recognition = FLAGS_rec;
  options.dictionary = FLAGS_dictionary;
  options.longest_side = FLAGS_limit_side_len;
  options.boxes.least_score = FLAGS_box_thresh;
  options.boxes.growth = FLAGS_unclip_ratio;
  options.least_score = FLAGS_drop_score;
  options.threads = FLAGS_threads;
  if (!FLAGS_save_inputs.empty()) {
    options.observer = [&recorded](Stage stage, const std::string& variable, const Tensor& input) {
      recorded.Add(stage, variable, input);
    };
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<TextReader> reader, TextReader::Load(options));
  for (const std::string& path : command_line.arguments) {
    ASSIGN_OR_RETURN(const Image image, ReadImage(path));
    ASSIGN_OR_RETURN(const std::vector<TextLine> lines, reader->Read(image));
    std::string text = absl::StrFormat("%s: %d lines\n", path, lines.size());
    for (const TextLine& line : lines) text += LineText(line);
    RETURN_IF_ERROR(WriteStandardOutput(text));
  }
  if (!FLAGS_save_inputs.empty()) RETURN_IF_ERROR(recorded.Write(FLAGS_save_inputs));
  return kDone;
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "ocr";
  help.purpose = "Finds and reads the text in images: corners, probability and text of each line.";
  help.usage = {"ocr --det=DIR --rec=DIR --dictionary=FILE [flags] IMAGE..."};
  help.flag_groups = {{"Networks:", {"det", "cls", "rec", "dictionary"}},
                      {"Lines:", {"limit_side_len", "box_thresh", "unclip_ratio", "drop_score"}},
                      {"Runs:", {"threads", "save_inputs"}}};
  return help;
}

}  // namespace
}  // namespace ocr
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::ocr::Help(), fixpoint::ocr::Run);
}
