// Any text as a configuration: a program is rewritten by it and given back, or it is refused.

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "proto/file/text_message.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  fixpoint::TranspileOptions options;
  const absl::Status status = fixpoint::ParseTextMessage(text, "fuzz", &options.config);
  if (!status.ok()) {
    fixpoint::CheckIsInputError(status);
    return 0;
  }
  // A target is a file's name, and files are no part of this.
  if (options.config.target().find_first_of("./") != std::string::npos) return 0;
  fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  return 0;
}
