// Any text as a file of ranges: NNI's, TensorRT's and Glow's. A program is rewritten by it and
// given back, or it is refused.

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/exchange/range_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const fixpoint::Program& program = fixpoint::SmallTrainingProgram();
  const absl::StatusOr<fixpoint::RangeProfile> profile =
      fixpoint::ParseRanges(text, "fuzz", &program);
  if (!profile.ok()) {
    fixpoint::CheckIsInputError(profile.status());
    return 0;
  }
  fixpoint::TranspileOptions options;
  options.profile = &*profile;
  fixpoint::TranspileAndUndo(program, options);
  return 0;
}
