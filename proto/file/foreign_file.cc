#include "proto/file/foreign_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

// Enough of a text to recognise it by.
constexpr size_t kBeginning = 4096;

// A pickle of protocol 2 to 5, as paddle.save and fluid.save write it.
bool IsPickle(absl::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// A tensor, or several: a version of 0 in 4 bytes, then a number of LoD levels in 8.
bool IsTensorStream(absl::string_view bytes) {
  constexpr absl::string_view kVersion("\0\0\0\0", 4);
  constexpr absl::string_view kHighBytesOfLevels("\0\0\0\0\0\0\0", 7);
  return bytes.size() >= 12 && absl::StartsWith(bytes, kVersion) && bytes[4] < 16 &&
         bytes.substr(5, 7) == kHighBytesOfLevels;
}

absl::Status IsNoProgram(absl::string_view file_name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file_name, ": is ", what));
}

}  // namespace

FileFormat FormatOf(absl::string_view bytes) {
  if (IsPickle(bytes)) return FileFormat::kPickle;
  if (IsTensorStream(bytes)) return FileFormat::kTensorStream;
  if (absl::StartsWith(bytes, "PK\x03\x04")) return FileFormat::kZip;
  if (absl::StartsWith(bytes, "\x1f\x8b")) return FileFormat::kGzip;
  if (absl::StartsWith(bytes, "\x93NUM")) return FileFormat::kNumpy;
  // The tag of the first field, blocks.
  if (absl::StartsWith(bytes, "\x0a")) return FileFormat::kProgram;
  return FileFormat::kUnknown;
}

absl::Status RefuseForeignBinary(absl::string_view bytes, absl::string_view file_name) {
  switch (FormatOf(bytes)) {
    case FileFormat::kPickle:
      return IsNoProgram(file_name,
                         "a pickle (.pdparams, .pdopt), which holds parameters; expected the "
                         "program beside it (.pdmodel)");
    case FileFormat::kTensorStream:
      return IsNoProgram(file_name,
                         "a parameter file (.pdiparams, __params__ or one variable); expected the "
                         "program beside it (.pdmodel or __model__)");
    case FileFormat::kZip:
      return IsNoProgram(file_name, "a zip archive; expected a program, plain or gzipped");
    case FileFormat::kNumpy:
      return IsNoProgram(file_name, "a NumPy array (.npy); expected a program");
    case FileFormat::kUnknown:
    case FileFormat::kProgram:
    case FileFormat::kGzip:
      break;
  }
  return absl::OkStatus();
}

absl::Status RefuseForeignText(absl::string_view text, absl::string_view file_name) {
  const absl::string_view beginning = absl::StripLeadingAsciiWhitespace(text).substr(0, kBeginning);
  if (!absl::StartsWith(beginning, "{") && !absl::StartsWith(beginning, "[")) {
    return absl::OkStatus();
  }
  if (!absl::StrContains(beginning, "\"base_code\"")) {
    return IsNoProgram(file_name, "JSON, not a program; expected a serialized program");
  }
  return absl::UnimplementedError(
      absl::StrCat(file_name,
                   ": is a program of PaddlePaddle 3 in JSON (PIR), which is not "
                   "supported; expected a .pdmodel, which FLAGS_enable_pir_api=0 makes "
                   "PaddlePaddle 3 write"));
}

}  // namespace fixpoint
