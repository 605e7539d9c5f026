#include "tools/failing_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/temporary_folder.h"
#include "tools/outputs.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

// Loses every tanh op, which breaks an invariant.
class LosesTanh final : public Pass {
 public:
  absl::string_view name() const override { return "loses_tanh"; }
  absl::string_view doc() const override { return "Removes every tanh."; }
  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    for (const Op& op : program.block(0).ops()) {
      if (op.type() == "tanh") rewriter.Remove(op);
    }
    return absl::OkStatus();
  }
};

absl::Status LoseTanh(const ProgramDesc& desc) {
  PassTable passes = TrainPasses();
  EXPECT_TRUE(passes.Add(std::make_unique<LosesTanh>()).ok());
  auto program = Program::Create(desc);
  if (!program.ok()) return program.status();
  TranspileOptions options;
  options.passes = &passes;
  options.pipeline = absl::StrCat(kTrainPipeline, ",loses_tanh");
  options.pipeline_options.verify = false;
  return Transpile(&*program, options).status();
}

constexpr char kProgram[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  var z f32[-1,4]
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}
  relu(X=y) -> (Out=y)
  tanh(X=y) -> (Out=z) {op_role=0}
  scale(X=z) -> (Out=y)
)";

TEST(WithFailingProgram, WritesTheSmallestProgramThatFailsAlike) {
  const TemporaryFolder folder;
  const ProgramDesc program = ParsedProgram(kProgram).Proto();
  const absl::Status error = LoseTanh(program);
  ASSERT_EQ(std::string(error.message()), "invariant 6: block 0: an op was removed: tanh");
  const std::string path = folder.Path("out.failing.txt");
  Outputs outputs({folder.Path("in")});
  const absl::Status reported =
      WithFailingProgram(error, program, LoseTanh, folder.Path("out"), &outputs);
  EXPECT_EQ(reported.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(reported.message()),
            absl::StrCat("invariant 6: block 0: an op was removed: tanh\n"
                         "a program that reproduces this is in ",
                         path, "; please attach it to a report, with the command line"));
  EXPECT_EQ(folder.Read("out.failing.txt"),
            "program\n"
            "block 0 {\n"
            "  var y f32[-1,4]\n"
            "  var z f32[-1,4]\n"
            "  tanh(X=y) -> (Out=z)\n"
            "}\n");
  EXPECT_EQ(LoseTanh(ParsedProgram(folder.Read("out.failing.txt")).Proto()), error);
}

TEST(WithFailingProgram, LeavesOtherErrorsAlone) {
  const TemporaryFolder folder;
  const absl::Status error = absl::InvalidArgumentError("bad input");
  Outputs outputs({});
  EXPECT_EQ(WithFailingProgram(error, ProgramDesc(), LoseTanh, folder.Path("out"), &outputs),
            error);
  EXPECT_THAT(folder.Files(), testing::IsEmpty());
}

TEST(WithFailingProgram, SaysWhereItCannotWrite) {
  const ProgramDesc program = ParsedProgram(kProgram).Proto();
  Outputs outputs({});
  const absl::Status reported =
      WithFailingProgram(LoseTanh(program), program, LoseTanh, "/no/such/folder/out", &outputs);
  EXPECT_EQ(reported.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(reported.message()),
              testing::StartsWith("invariant 6: block 0: an op was removed: tanh\n"
                                  "/no/such/folder/out.failing.txt: cannot be written: "));
}

TEST(WithFailingProgram, IsNotWrittenOntoTheInput) {
  const TemporaryFolder folder;
  folder.Write("out.failing.txt", "the program that failed before");
  const ProgramDesc program = ParsedProgram(kProgram).Proto();
  Outputs outputs({folder.Path("out.failing.txt")});
  const absl::Status reported =
      WithFailingProgram(LoseTanh(program), program, LoseTanh, folder.Path("out"), &outputs);
  EXPECT_THAT(std::string(reported.message()),
              testing::HasSubstr(folder.Path("out.failing.2.txt") + "; please attach it"));
  EXPECT_EQ(folder.Read("out.failing.txt"), "the program that failed before");
}

}  // namespace
}  // namespace fixpoint
