// transpile --mode=rewrite, and patterns among the passes of other modes, as a user runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

constexpr char kFloat[] = R"(var x f32[-1,4]
var s f32[-1,4]
var y f32[-1,4]
var t f32[-1,4]
sigmoid(X=x) -> (Out=s)
elementwise_mul(X=x, Y=s) -> (Out=y)
tanh(X=s) -> (Out=t)
)";

// A product of codes, a relu and a softmax.
constexpr char kPortable[] = R"(var x f32[-1,2]
var x.q f32[-1,2]
var x.d f32[-1,2]
var s f32[1] persistable
var zero i32[1] persistable
var w.int8 i8[2,2] persistable
var w.s f32[1] persistable
var w f32[2,2]
var y f32[-1,2]
var r f32[-1,2]
var z f32[-1,2]
var fetch fetch_list persistable
quantize_linear(Scale=s, X=x, ZeroPoint=zero) -> (Y=x.q) {bit_length=8, quant_axis=-1, round_type=0}
dequantize_linear(Scale=s, X=x.q, ZeroPoint=zero) -> (Y=x.d) {bit_length=8, quant_axis=-1, round_type=0}
dequantize_linear(Scale=w.s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
mul(X=x.d, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
relu(X=y) -> (Out=r)
softmax(X=r) -> (Out=z)
fetch(X=z) -> (Out=fetch) {col=0}
)";

constexpr char kParameters[] = R"(s f32[1] 2
w.int8 i8[2,2] 127 1 2 3
w.s f32[1] 1
zero i32[1] 0
)";

// A pattern that replaces an op which lowering folds.
constexpr char kClip[] = R"(pattern relu_to_clip "A relu of up to 6."
before:
  relu(X=x) -> (Out=y)
after:
  relu6(X=x) -> (Out=y) {threshold=6.0}
)";

class TranspileRewrite : public testing::Test {
 protected:
  TranspileRewrite() {
    folder_.Write("net.txt", kFloat);
    folder_.Write("clip.txt", kClip);
  }

  BinaryRun Run(const std::vector<std::string>& arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    return RunBinary("tools/transpile", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(TranspileRewrite, WhatNoPatternMatchesIsWrittenOnlyWhereItIsNamed) {
  const BinaryRun unnamed = Run({"--mode=rewrite", "--patterns=clip.txt", "net.txt"});
  EXPECT_EQ(unnamed.exit_code, 0);
  EXPECT_EQ(unnamed.out, "no pattern matched\n");
  EXPECT_EQ(unnamed.err, "net.txt: nothing in the program was changed; it is not written\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("net.rewritten.txt")));
  const BinaryRun named =
      Run({"--mode=rewrite", "--patterns=clip.txt", "--output=same.txt", "net.txt"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.out, "no pattern matched\nwrote same.txt\n");
}

TEST_F(TranspileRewrite, WhatPassesReplaceIsCountedAsWhatPatternsReplace) {
  const auto expand = [&](const std::string& program) {
    const BinaryRun run = Run(
        {"--mode=rewrite", "--pass_pipeline=expand_composites", "--output=expanded.txt", program});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  EXPECT_EQ(expand("net.txt"), "no pass changed anything\nwrote expanded.txt\n");
  folder_.Write("swish.txt", "var x f32[-1,4]\nvar y f32[-1,4]\nswish(X=x) -> (Out=y)\n");
  EXPECT_EQ(expand("swish.txt"), "swish_components: 1 match; 1 op became 2\nwrote expanded.txt\n");
}

TEST_F(TranspileRewrite, NamesThatAreNearlyRightAreProposed) {
  EXPECT_THAT(Run({"--mode=rewrite", "--patterns=swsh", "net.txt"}).err,
              HasSubstr("there are no built-in patterns \"swsh\"; did you mean swish?; there are"));
  EXPECT_THAT(Run({"--mode=frez", "net.txt"}).err,
              HasSubstr("--mode=frez; did you mean freeze?; there are train, "));
}

// Passes before the plan change what it decides about.
TEST_F(TranspileRewrite, TheReportIsAboutTheProgramThatIsPlanned) {
  folder_.Write("relu.txt", "var x f32[-1,4]\nvar y f32[-1,4]\nrelu(X=x) -> (Out=y)\n");
  const BinaryRun run =
      Run({"--patterns=clip.txt", "--dry_run",
           "--pass_pipeline=relu_to_clip,plan_quantizers,insert_quantizers,initialize_state",
           "relu.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 op of 1 type has no input that can be quantized: relu6\n"));
}

TEST_F(TranspileRewrite, JsonHasWhatWasReplacedAndWhatNearlyWas) {
  const BinaryRun run =
      Run({"--mode=rewrite", "--patterns=swish", "--json", "--explain", "--dry_run", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, R"json({
  "schema_version": 1,
  "program": "net.txt",
  "output": "",
  "replaced": [],
  "near_matches": [
    {
      "pattern": "swish",
      "op": "block 0, op 1 (elementwise_mul)",
      "reason": "block 0, op 0 (sigmoid): Out is read by block 0, op 2 (tanh), which is not matched",
      "ops_found": 2,
      "ops": 2
    }
  ]
}
)json");
}

TEST_F(TranspileRewrite, PatternsOnStandardInputAreRead) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  options.input = kClip;
  folder_.Write("relu.txt", "var x f32[2]\nvar y f32[2]\nrelu(X=x) -> (Out=y)\n");
  const BinaryRun run = RunBinary(
      "tools/transpile", {"--mode=rewrite", "--patterns=-", "--output=-", "relu.txt"}, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("relu6(X=x) -> (Out=y) {threshold=6.0"));
  EXPECT_EQ(run.err, "relu_to_clip: 1 match; 1 op became 1\nwrote -\n");
}

TEST_F(TranspileRewrite, APatternComesBeforeLowering) {
  folder_.Write("portable.txt", kPortable);
  const Program program = ParsedProgram(kPortable);
  const auto scope = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  auto staged = StageCombinedParameters(program.Proto(), *scope, folder_.Path("params"));
  ASSERT_TRUE(staged.ok() && staged->Commit().ok()) << staged.status();
  const BinaryRun run =
      Run({"--mode=lower", "--params=params", "--patterns=clip.txt",
           "--pass_pipeline=relu_to_clip,lower_to_integers,remove_dead_variables", "portable.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("relu6                  1"));
  EXPECT_THAT(run.err, HasSubstr("relu_to_clip: replaced 1 match\n"));
}

TEST_F(TranspileRewrite, FlagsThatArePassesToo) {
  const BinaryRun run = Run({"--mode=prepare", "--params=params", "--patterns=swish",
                             "--pass_pipeline=swish", "--fold_batch_norm", "net.txt"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--pass_pipeline names the passes; leave out --fold_batch_norm"));
}

TEST_F(TranspileRewrite, ThePatternsAreNotWrittenOver) {
  const BinaryRun run =
      Run({"--mode=rewrite", "--patterns=clip.txt", "--output=clip.txt", "net.txt"});
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_EQ(folder_.Read("clip.txt"), kClip);
}

}  // namespace
}  // namespace fixpoint
