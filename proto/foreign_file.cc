#include "proto/foreign_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

// Enough of a file to know it by.
constexpr size_t kBeginning = 4096;

// A pickle of protocol 2 to 5: what paddle.save and fluid.save write.
bool IsPickle(absl::string_view beginning) {
  return beginning.size() >= 2 && beginning[0] == '\x80' && beginning[1] >= 2 && beginning[1] <= 5;
}

// A tensor, or several: a version of 0 in 4 bytes, then a number of LoD levels in 8.
bool IsTensorStream(absl::string_view beginning) {
  constexpr absl::string_view kVersion("\0\0\0\0", 4);
  constexpr absl::string_view kHighBytesOfLevels("\0\0\0\0\0\0\0", 7);
  return beginning.size() >= 12 && absl::StartsWith(beginning, kVersion) && beginning[4] < 16 &&
         beginning.substr(5, 7) == kHighBytesOfLevels;
}

bool IsJson(absl::string_view beginning) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(beginning);
  return absl::StartsWith(text, "{") || absl::StartsWith(text, "[");
}

bool IsPirJson(absl::string_view beginning) {
  return IsJson(beginning) && absl::StrContains(beginning, "\"base_code\"");
}

}  // namespace

absl::Status RefuseForeignFile(absl::string_view bytes, absl::string_view file_name) {
  const absl::string_view beginning = bytes.substr(0, kBeginning);
  if (IsPirJson(beginning)) {
    return absl::UnimplementedError(
        absl::StrCat(file_name,
                     ": is a program of PaddlePaddle 3 in JSON (PIR), which is not "
                     "supported; expected a .pdmodel, which FLAGS_enable_pir_api=0 "
                     "makes PaddlePaddle 3 write"));
  }
  const auto is_no_program = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": is ", what));
  };
  if (IsJson(beginning)) return is_no_program("JSON, not a program; expected a serialized program");
  if (IsPickle(beginning)) {
    return is_no_program(
        "a pickle (.pdparams, .pdopt), which holds parameters; expected the program beside it "
        "(.pdmodel)");
  }
  if (IsTensorStream(beginning)) {
    return is_no_program(
        "a parameter file (.pdiparams, __params__ or one variable); expected the program beside "
        "it (.pdmodel or __model__)");
  }
  if (absl::StartsWith(beginning, "PK\x03\x04")) {
    return is_no_program("a zip archive; expected a program, plain or gzipped");
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
