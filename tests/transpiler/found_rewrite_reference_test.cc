// The invariants of the programs that the reference quantized: they find its one defect there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tests/testing/reference_data.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/invariants.h"

namespace fixpoint {
namespace {

TEST(FoundRewriteOfTheReference, LosesTheParametersOfOpRoleVarAndKeepsTheOtherInvariants) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int quantized = 0;
  std::set<std::string> corrupted;
  for (const std::string& path : ReferencePrograms()) {
    SCOPED_TRACE(path);
    absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const absl::StatusOr<Program> program = Program::Create(std::move(loaded->program), path);
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::StatusOr<FoundRewrite> rewrite = FindRewrite(*program, QuantizerTable());
    if (!rewrite.ok()) continue;  // frozen: products read codes
    quantized += rewrite->ops.empty() ? 0 : 1;
    for (const Violation& violation : CheckInvariants(*program, *rewrite, nullptr)) {
      EXPECT_EQ(violation.invariant, 2) << violation.message;
      EXPECT_TRUE(absl::StrContains(violation.message, ": op_role_var names "))
          << violation.message;
      corrupted.insert(path.substr(path.rfind("models/")));
    }
  }
  EXPECT_GE(quantized, 40);
  EXPECT_THAT(corrupted,
              testing::Contains("models/generated/fluid185/digits_conv-adam-train_main-"
                                "QuantizeTranspiler-act_abs_max_paddle_quantized.pdmodel"));
}

}  // namespace
}  // namespace fixpoint
