// Any text as a file of patterns: it is refused, or a training program is rewritten by it and given
// back byte for byte.

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::vector<fixpoint::Pattern>> patterns =
      fixpoint::ParsePatterns(text, "patterns.txt");
  if (!patterns.ok()) {
    fixpoint::CheckIsInputError(patterns.status());
    return 0;
  }
  fixpoint::Program program = fixpoint::SmallTrainingProgram().Clone();
  const std::string original = program.Proto().SerializeAsString();
  fixpoint::RewriteOptions options;
  options.explain = true;
  const auto report = fixpoint::Rewrite(&program, *patterns, options);
  if (!report.ok()) {
    fixpoint::CheckIsInputError(report.status());
  } else if (program.Proto().has_edit_log()) {
    CHECK(fixpoint::Untranspile(&program).ok());
  }
  CHECK_EQ(program.Proto().SerializeAsString(), original);
  return 0;
}
