// What the verifier finds in real programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "tests/ops/reference_program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

// "program: code" of each kind of finding in each program.
std::set<std::string> KindsFound(Severity severity) {
  std::set<std::string> kinds;
  for (const ReferenceProgram& file : LoadReferencePrograms("models/")) {
    for (const Finding& finding : Verify(file.program)) {
      if (finding.severity != severity) continue;
      kinds.insert(absl::StrCat(file.program.name(), ": ", CodeName(finding.code)));
    }
  }
  return kinds;
}

// The reference's transpiler renames what op_role_var names, so that the parameter is lost: every
// training program that it, or the pass after it, rewrote has this fault, and no program another.
TEST(VerifierOnReferencePrograms, FindsTheRenamedParametersAndNoOtherError) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::set<std::string> errors = KindsFound(Severity::kError);
  for (const std::string& kind : errors) {
    EXPECT_TRUE(absl::EndsWith(kind, ": op_role_var")) << kind;
    EXPECT_TRUE(absl::StrContains(kind, "_paddle_quantized") || absl::StrContains(kind, "qat_"))
        << kind;
  }
  EXPECT_THAT(errors,
              testing::Contains("digits_conv-adam-train_main-QuantizeTranspiler-act_abs_max_"
                                "paddle_quantized.pdmodel: op_role_var"));
}

// Products of -1 with known sizes, which 1.x wrote.
TEST(VerifierOnReferencePrograms, WarnsOfNegativeSizesOnly) {
  SKIP_WITHOUT_REFERENCE_DATA();
  EXPECT_THAT(KindsFound(Severity::kWarning),
              testing::ElementsAre("ssd_mobilenet_v1_TRAIN.pdmodel.gz: variable_type"));
}

TEST(VerifierOnReferencePrograms, StartupProgramsInitializeEveryPersistable) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int pairs = 0;
  for (const ReferenceProgram& file : LoadReferencePrograms("train_main.pdmodel")) {
    const std::string startup_path =
        absl::StrReplaceAll(file.path, {{"train_main", "train_startup"}});
    const std::vector<ReferenceProgram> startup = LoadReferencePrograms(startup_path);
    ASSERT_EQ(startup.size(), 1u) << startup_path;
    VerifyOptions options;
    options.startup = &startup[0].program;
    EXPECT_EQ(FindingsText(file.program, Verify(file.program, options)), "");
    ++pairs;
  }
  EXPECT_GE(pairs, 14);
}

}  // namespace
}  // namespace fixpoint
