// Any program: it is verified, drawn and compared with itself; rewritten for each kind of target
// and given back; undone by its own log or marks, made a test program, and frozen and lowered with
// parameters of the right shape, or refused.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/verifier.h"
#include "proto/diff/program_diff.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "proto/text/program_dot.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"

namespace fixpoint {
namespace {

void CheckReads(const Program& program) {
  FindingsText(program, Verify(program));
  PrintDot(program, DotOptions());
  CHECK(DiffPrograms(program, program, DiffOptions()).differences.empty());
}

void CheckUndo(const Program& program) {
  Program copy = program.Clone();
  const absl::Status undone = Untranspile(&copy);
  if (undone.ok()) return;
  CheckIsInputError(undone);
  CHECK(copy.Proto().SerializeAsString() == program.Proto().SerializeAsString());
}

// Parameters of a few elements each, all 1; those of other types and shapes are missing.
Scope SmallParameters(const Program& program) {
  constexpr int64_t kMostElements = 64;
  Scope scope;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    int64_t count = 1;
    for (const int64_t dim : parameter.dims) {
      count = dim < 0 || dim > kMostElements ? kMostElements + 1 : count * dim;
      if (count > kMostElements) break;
    }
    if (count > kMostElements || parameter.dtype != VarType::FP32) continue;
    absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::FP32, parameter.dims);
    CHECK(tensor.ok()) << tensor.status();
    for (float& element : tensor->mutable_data<float>()) element = 1;
    scope.Set(parameter.name, *std::move(tensor));
  }
  return scope;
}

void CheckInference(const Program& program) {
  const absl::StatusOr<Program> test = MakeTestProgram(program);
  if (!test.ok()) CheckIsInputError(test.status());
  const Scope scope = SmallParameters(program);
  for (const FrozenForm form : {FrozenForm::kPortable, FrozenForm::kLegacyInt8}) {
    FreezeOptions options;
    options.form = form;
    options.allow_dynamic = true;
    const absl::StatusOr<FrozenModel> frozen = Freeze(program, scope, options);
    if (!frozen.ok()) {
      CheckIsInputError(frozen.status());
      continue;
    }
    const absl::StatusOr<LoweredModel> lowered = Lower(frozen->program, frozen->scope);
    if (!lowered.ok()) CheckIsInputError(lowered.status());
  }
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
  fixpoint::CheckReads(*program);
  fixpoint::CheckUndo(*program);
  fixpoint::CheckInference(*program);
  for (const char* target : {"paddle_1_8", "paddle_2_6", "onednn_int8"}) {
    fixpoint::TranspileOptions options;
    options.config.set_target(target);
    options.config.set_observe_outputs(true);
    for (const char* type : {"elementwise_add", "concat", "pool2d", "matmul_v2"}) {
      options.config.add_also_quantize(type);
    }
    fixpoint::TranspileAndUndo(*program, options);
  }
  return 0;
}
