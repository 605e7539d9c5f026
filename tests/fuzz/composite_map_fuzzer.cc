// Any program, whose map of composites may be anything: its composites are given back, or refused
// as they are, and undone. What is expanded in a program without a map is given back to the byte.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tests/fuzz/input_error.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

std::string Bytes(const Program& program) { return program.Proto().SerializeAsString(); }

absl::Status RunPasses(const std::string& pipeline, Program* program) {
  auto passes = RewritePasses({});
  CHECK(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = pipeline;
  return Rewrite(program, {}, options).status();
}

// Runs passes on a copy, and undoes them.
void CheckPasses(const Program& program, const std::string& pipeline) {
  Program copy = program.Clone();
  const std::string before = Bytes(copy);
  const absl::Status run = RunPasses(pipeline, &copy);
  if (!run.ok()) {
    CheckIsInputError(run);
  } else if (Bytes(copy) != before) {
    const absl::Status undone = Untranspile(&copy);
    CHECK(undone.ok()) << undone;
  }
  CHECK(Bytes(copy) == before);
}

// Of a program in which nothing is expanded yet.
void CheckIsGivenBack(const Program& program) {
  const absl::StatusOr<CompositeMap> map = ReadCompositeMap(program);
  if (!map.ok() || map->composites_size() > 0) return;
  Program copy = program.Clone();
  copy.ClearEditLog();
  const std::string before = Bytes(copy);
  if (!RunPasses("expand_composites", &copy).ok()) return;
  copy.ClearEditLog();
  const absl::Status raised = RunPasses("raise_composites", &copy);
  CHECK(raised.ok()) << raised;
  copy.ClearEditLog();
  CHECK(Bytes(copy) == before);
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
  fixpoint::CheckIsGivenBack(*program);
  return 0;
}
