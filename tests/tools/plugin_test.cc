// --plugin, as a user gives it (tests/tools/plugins).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A product that is trained; x is an input.
constexpr char kTraining[] = R"(var x f32[-1,4]
var w f32[4,2] persistable
var y f32[-1,2]
var loss f32[1]
var loss@GRAD f32[1]
var y@GRAD f32[-1,2]
var w@GRAD f32[4,2]
mul(X=x, Y=w) -> (Out=y) {op_role=0}
mean(X=y) -> (Out=loss) {op_role=256}
fill_constant() -> (Out=loss@GRAD) {shape=[1L], dtype=5, value=1.0, op_role=257}
mean_grad(X=y, Out@GRAD=loss@GRAD) -> (X@GRAD=y@GRAD) {op_role=1}
mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=@EMPTY@, Y@GRAD=w@GRAD) {op_role=1}
)";

// A forward product whose weight has 16 rows, after a tanh and one of 4.
constexpr char kInference[] = R"(var x f32[-1,4]
var v f32[4,16] persistable
var h f32[-1,16]
var t f32[-1,16]
var w f32[16,2] persistable
var y f32[-1,2]
mul(X=x, Y=v) -> (Out=h)
tanh(X=h) -> (Out=t)
mul(X=t, Y=w) -> (Out=y)
)";

constexpr char kTarget[] = R"(name: "small"
conventions { era: PADDLE_2 scale_suffix: "@scale" }
weights { quantizer: "abs_max" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN form: SEPARATE }
activations { quantizer: "norm" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN form: SEPARATE }
ops { types: "mul" inputs { name: "X" role: ACTIVATION } inputs { name: "Y" role: WEIGHT } }
)";

std::string PluginPath(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/fixpoint/tests/tools/plugins/", name, ".so");
}

class Plugin : public testing::Test {
 protected:
  Plugin() {
    folder_.Write("train.txt", kTraining);
    folder_.Write("inference.txt", kInference);
    folder_.Write("small.textproto", kTarget);
    std::filesystem::copy(PluginPath("clips"), folder_.Path("clips.so"));
  }

  BinaryRun Run(const std::vector<std::string>& arguments) const {
    return RunTool("transpile", arguments);
  }

  BinaryRun RunTool(const std::string& tool, const std::vector<std::string>& arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    return RunBinary(absl::StrCat("tools/", tool), arguments, options);
  }

  // The exit code and the first line of what is said about plugins.
  void Expect(const std::vector<std::string>& plugins, int exit_code,
              const std::string& message) const {
    std::vector<std::string> arguments = {"--dry_run", "train.txt"};
    for (const std::string& plugin : plugins) arguments.push_back("--plugin=" + plugin);
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }

  TemporaryFolder folder_;
};

TEST_F(Plugin, APassTakesGradientOpsAlong) {
  const BinaryRun run = Run({"--plugin=clips.so", "--mode=rewrite", "--pass_pipeline=clip_inputs",
                             "--output=-", "train.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "wrote -\n");
  EXPECT_EQ(run.out.substr(run.out.find("block 0 {")), R"(block 0 {
  var x f32[-1,4]
  var w f32[4,2] persistable
  var y f32[-1,2]
  var loss f32[1]
  var loss@GRAD f32[1]
  var y@GRAD f32[-1,2]
  var w@GRAD f32[4,2]
  var x.clipped f32[-1,4]
  relu6(X=x) -> (Out=x.clipped)
  mul(X=x.clipped, Y=w) -> (Out=y) {op_role=0}
  mean(X=y) -> (Out=loss) {op_role=256}
  fill_constant() -> (Out=loss@GRAD) {shape=[1L], dtype=5, value=1.0, op_role=257}
  mean_grad(X=y, Out@GRAD=loss@GRAD) -> (X@GRAD=y@GRAD) {op_role=1}
  mul_grad(X=x.clipped, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=@EMPTY@, Y@GRAD=w@GRAD) {op_role=1}
}
)");
}

// The quantizers come after the pass, as the pipeline says: they quantize what it wrote.
TEST_F(Plugin, APassComesBeforeTheQuantizers) {
  const BinaryRun run =
      Run({"--plugin=clips.so", "--target=small.textproto", "--output=out.txt",
           "--pass_pipeline=clip_inputs,plan_quantizers,insert_quantizers,initialize_state",
           "train.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string text = folder_.Read("out.txt");
  EXPECT_THAT(text, HasSubstr("relu6(X=x) -> (Out=x.clipped)"));
  EXPECT_THAT(text, HasSubstr("squared_l2_norm(X=x.clipped) -> (Out=x.clipped.squared)"));
  EXPECT_THAT(text, HasSubstr("\n  mul(X=x.clipped.quantized.dequantized, Y=w.quantized"));
  EXPECT_THAT(text, HasSubstr("\n  mul_grad(X=x.clipped.quantized.dequantized, Y=w.quantized"));
  const BinaryRun undone = Run({"--undo", "--output=-", "out.txt"});
  EXPECT_EQ(undone.exit_code, 0) << undone.err;
  EXPECT_THAT(undone.out, HasSubstr("\n  mul_grad(X=x, Y=w, Out@GRAD=y@GRAD)"));
  EXPECT_THAT(undone.out, testing::Not(HasSubstr("relu6")));
}

TEST_F(Plugin, APassWhoseGradientsCannotFollowIsRefused) {
  // Which value of w the gradient op repeats is not certain.
  const std::string text =
      absl::StrReplaceAll(kTraining, {{"mean(X=y)", "scale(X=w) -> (Out=w)\nmean(X=y)"}});
  folder_.Write("train.txt", text);
  const BinaryRun run = Run({"--plugin=clips.so", "--mode=rewrite", "--pass_pipeline=clip_inputs",
                             "--output=out.txt", "train.txt"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("(mul): is to read \"x.clipped\" in slot X, and block 0, op 6 "
                                 "(mul_grad) may be its gradient op, or another op's, and would "
                                 "not follow [in clip_inputs]"));
}

TEST_F(Plugin, APassThatForgetsGradientsIsADefect) {
  const BinaryRun run =
      Run({"--plugin=clips.so", "--mode=rewrite", "--pass_pipeline=clip_inputs_alone",
           "--output=out.txt", "--dry_run", "train.txt"});
  EXPECT_EQ(run.exit_code, 70);
  EXPECT_THAT(run.err, HasSubstr("(mul_grad): input X reads \"x\"; want \"x.clipped\", which block "
                                 "0, op 1 (mul) reads [gradient_mismatch]"));
  EXPECT_THAT(run.err, HasSubstr("[after clip_inputs_alone]"));
  EXPECT_THAT(run.err, HasSubstr("a defect of Fixpoint, or of a plugin"));
}

TEST_F(Plugin, TheOrderOfPassesIsThatOfThePipeline) {
  const BinaryRun run =
      Run({"--plugin=clips.so",
           "--pass_pipeline=plan_quantizers,clip_inputs,insert_quantizers,initialize_state",
           "train.txt"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("clip_inputs comes before whatever establishes \"planned\"; put "
                                 "it earlier"));
}

TEST_F(Plugin, APassIsNamedInEveryMode) {
  const BinaryRun run = Run({"--plugin=clips.so", "--mode=rewrite", "--pass_pipeline=clip_inputs",
                             "--output=-", "inference.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("mul(X=t.clipped, Y=w) -> (Out=y)"));
}

TEST_F(Plugin, ACheckOfTheTargetKeepsAnOpFloat) {
  folder_.Write("small.textproto", absl::StrCat(kTarget, "checks: \"keeps_wide\"\n"));
  const BinaryRun run = Run(
      {"--plugin=clips.so", "--target=small.textproto", "--explain", "--dry_run", "inference.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("keeps_wide: the weight has more than 8 rows"));
  EXPECT_THAT(run.out, HasSubstr("kept_by_check"));
  EXPECT_THAT(run.out, HasSubstr("by_target"));
}

TEST_F(Plugin, ACheckOfTheTargetRefusesAProgram) {
  folder_.Write("small.textproto", absl::StrCat(kTarget, "checks: \"refuses_tanh\"\n"));
  const BinaryRun run =
      Run({"--plugin=clips.so", "--target=small.textproto", "--dry_run", "inference.txt"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err,
              HasSubstr("block 0, op 2 (mul): target small refuses it: refuses_tanh: a tanh comes "
                        "before it"));
}

TEST_F(Plugin, ACheckOfTheTargetIsAskedOfAGivenPlan) {
  folder_.Write("small.textproto", kTarget);
  const BinaryRun planned = Run({"--plugin=clips.so", "--target=small.textproto",
                                 "--save_plan=plan.txt", "--dry_run", "inference.txt"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  folder_.Write("small.textproto", absl::StrCat(kTarget, "checks: \"keeps_wide\"\n"));
  const BinaryRun run = Run({"--plugin=clips.so", "--target=small.textproto", "--plan=plan.txt",
                             "--dry_run", "inference.txt"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("plan.txt: block 0, op 2 (mul): target small does not compute it "
                                 "on integers: keeps_wide: the weight has more than 8 rows"));
}

TEST_F(Plugin, AnUnknownCheckIsAnError) {
  folder_.Write("small.textproto", absl::StrCat(kTarget, "checks: \"keeps_wider\"\n"));
  const BinaryRun run =
      Run({"--plugin=clips.so", "--target=small.textproto", "--dry_run", "inference.txt"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("target small: there is no check \"keeps_wider\"; did you mean "
                                 "keeps_wide?"));
}

TEST_F(Plugin, AQuantizerIsKnownToTheOtherTools) {
  const BinaryRun run = Run({"--plugin=clips.so", "--target=small.textproto", "--output=out.txt",
                             "--startup_output=startup.txt", "train.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const BinaryRun verified = RunTool("inspect", {"verify", "--plugin=clips.so", "out.txt"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("0 violations of the invariants"));
}

TEST_F(Plugin, WithoutThePluginItsWordsAreUnknown) {
  const BinaryRun run = Run({"--target=small.textproto", "--dry_run", "train.txt"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("norm"));
  const BinaryRun pass = Run({"--pass_pipeline=clip_inputs", "train.txt"});
  EXPECT_EQ(pass.exit_code, 2);
  EXPECT_THAT(pass.err, HasSubstr("there is no pass \"clip_inputs\""));
}

TEST_F(Plugin, EveryToolLoadsIt) {
  for (const char* tool : {"train", "infer", "quantize"}) {
    EXPECT_THAT(RunTool(tool, {"--help"}).out, HasSubstr("--plugin=string")) << tool;
  }
}

TEST_F(Plugin, WhatCannotBeLoadedIsRefusedByName) {
  Expect({"missing.so"}, 3, "transpile: missing.so: No such file or directory");
  Expect({"/"}, 3, "transpile: / is no file");
  Expect({"train.txt"}, 3, "transpile: train.txt is no shared library");
  Expect({PluginPath("no_plugin")}, 3,
         "no_plugin.so is no plugin of Fixpoint: no source of it has FIXPOINT_PLUGIN");
  Expect({PluginPath("no_entry")}, 3, "no_entry.so has the stamp of a plugin and no entry");
  Expect({PluginPath("missing_symbol")}, 4, "missing_symbol.so cannot be loaded: ");
  Expect({PluginPath("own_error")}, 4, "own_error.so: its accelerator is not there");
  Expect({PluginPath("taken_op")}, 3, "taken_op.so: there is an op \"relu\" already");
  Expect({PluginPath("taken_pass")}, 3,
         "taken_pass.so: there is a pass \"strip_training\" already");
}

TEST_F(Plugin, AnotherBuildIsRefusedBeforeItsCodeRuns) {
  Expect({PluginPath("other_build")}, 4,
         "other_build.so is a plugin for Fixpoint 0.0.9, and this is Fixpoint ");
}

TEST_F(Plugin, AnotherMachineIsRefused) {
  std::string bytes = folder_.Read("clips.so");
  bytes[18] = static_cast<char>(183);  // e_machine: AArch64
  folder_.Write("aarch64.so", bytes);
  Expect({"aarch64.so"}, 4, "transpile: aarch64.so is a library for another kind of machine");
}

TEST_F(Plugin, AFileThatIsCutOffIsRefused) {
  const std::string bytes = folder_.Read("clips.so");
  folder_.Write("short.so", bytes.substr(0, 40));
  Expect({"short.so"}, 3, "transpile: short.so is no shared library");
  folder_.Write("half.so", bytes.substr(0, bytes.size() / 4));
  Expect({"half.so"}, 3, "transpile: half.so is cut off or damaged");
}

TEST_F(Plugin, IsLoadedOnce) {
  Expect({"clips.so", "./clips.so"}, 2, "transpile: --plugin: ./clips.so is named twice");
  std::filesystem::copy(folder_.Path("clips.so"), folder_.Path("again.so"));
  Expect({"clips.so,again.so"}, 3, "transpile: again.so: there is a pass \"clip_inputs\" already");
}

}  // namespace
}  // namespace fixpoint
