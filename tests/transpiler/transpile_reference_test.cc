// Every reference program through every built-in target: a result that verifies as what it was
// before did, keeps the invariants and is undone byte for byte, or one clear message.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "ops/verifier.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tests/testing/reference_data.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/invariants.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

// The errors of a program, by code and op type: a rewrite adds none.
std::map<std::string, int> ErrorsOf(const Program& program) {
  std::map<std::string, int> errors;
  for (const Finding& finding : Verify(program)) {
    if (finding.severity != Severity::kError) continue;
    ++errors[absl::StrCat(CodeName(finding.code), " of ",
                          finding.op == nullptr ? "a block" : finding.op->type())];
  }
  return errors;
}

class TranspileReferenceTest : public testing::TestWithParam<std::string> {};

TEST_P(TranspileReferenceTest, EveryProgramIsRewrittenAndUndone) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int rewritten = 0;
  for (const std::string& path : ReferencePrograms()) {
    SCOPED_TRACE(path);
    absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    absl::StatusOr<Program> program = Program::Create(std::move(loaded->program), path);
    ASSERT_TRUE(program.ok()) << program.status();
    const std::string bytes = program->Proto().SerializeAsString();
    std::map<std::string, int> errors = ErrorsOf(*program);

    TranspileOptions options;
    options.config.set_target(GetParam());
    options.config.set_observe_outputs(true);
    for (const char* type : {"elementwise_add", "pool2d", "concat", "matmul_v2"}) {
      options.config.add_also_quantize(type);
    }
    const absl::StatusOr<TranspileResult> result = Transpile(&*program, options);
    ASSERT_TRUE(result.ok()) << result.status();
    if (!result->left_alone.empty() || result->plan.sites().empty()) {
      EXPECT_TRUE(program->Proto().SerializeAsString() == bytes);
      continue;
    }
    ++rewritten;

    absl::StatusOr<Program> saved = Program::Create(program->Proto(), path);
    ASSERT_TRUE(saved.ok()) << saved.status();
    for (const auto& [error, count] : ErrorsOf(*saved)) EXPECT_LE(count, errors[error]) << error;
    // What the program shows without its log, to whoever looks.
    const absl::StatusOr<FoundRewrite> found = FindRewrite(*saved, QuantizerTable());
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(found->ops.empty());
    const Program* startup = result->new_startup.has_value() ? &*result->new_startup : nullptr;
    for (const Violation& violation : CheckInvariants(*saved, *found, startup)) {
      ADD_FAILURE() << "invariant " << violation.invariant << ": " << violation.message;
    }

    const absl::StatusOr<TranspileResult> again = Transpile(&*saved, options);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->left_alone, "the program was quantized by Fixpoint already");

    const absl::Status undone = Untranspile(&*saved);
    ASSERT_TRUE(undone.ok()) << undone;
    EXPECT_TRUE(saved->Proto().SerializeAsString() == bytes);
  }
  EXPECT_GE(rewritten, 60);
}

INSTANTIATE_TEST_SUITE_P(Targets, TranspileReferenceTest, testing::ValuesIn(BuiltInTargets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint
