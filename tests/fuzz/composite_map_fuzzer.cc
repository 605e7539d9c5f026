// Any program, whose map of composites may be anything: its composites are given back, or refused
// as they are, and undone; what is expanded in it anew is given back too.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tests/fuzz/input_error.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

// Runs passes on a copy, and undoes them.
void CheckPasses(const Program& program, const std::string& pipeline) {
  auto passes = RewritePasses({});
  CHECK(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = pipeline;
  Program copy = program.Clone();
  const std::string before = copy.Proto().SerializeAsString();
  const auto report = Rewrite(&copy, {}, options);
  if (!report.ok()) {
    CheckIsInputError(report.status());
  } else if (copy.Proto().SerializeAsString() != before) {
    const absl::Status undone = Untranspile(&copy);
    CHECK(undone.ok()) << undone;
  }
  CHECK(copy.Proto().SerializeAsString() == before);
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  fixpoint::ProgramFileLimits limits;
  limits.max_expanded_bytes = 1 << 20;
  const absl::StatusOr<fixpoint::LoadedProgram> loaded = fixpoint::ParseProgramBytes(
      absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz", limits);
  if (!loaded.ok()) return 0;
  const auto program = fixpoint::Program::Create(*loaded->program, "fuzz");
  if (!program.ok()) {
    fixpoint::CheckIsInputError(program.status());
    return 0;
  }
  fixpoint::CheckPasses(*program, "raise_composites");
  fixpoint::CheckPasses(*program, "expand_composites");
  fixpoint::CheckPasses(*program, "expand_composites,raise_composites");
  return 0;
}
