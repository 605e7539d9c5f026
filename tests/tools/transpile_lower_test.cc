// transpile --mode=lower as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A product of codes, and an op that no rule computes on integers.
constexpr char kPortable[] = R"(var x f32[-1,2]
var x.q f32[-1,2]
var x.d f32[-1,2]
var s f32[1] persistable
var zero i32[1] persistable
var w.int8 i8[2,2] persistable
var w.s f32[1] persistable
var w f32[2,2]
var y f32[-1,2]
var z f32[-1,2]
var fetch fetch_list persistable
quantize_linear(Scale=s, X=x, ZeroPoint=zero) -> (Y=x.q) {bit_length=8, quant_axis=-1, round_type=0}
dequantize_linear(Scale=s, X=x.q, ZeroPoint=zero) -> (Y=x.d) {bit_length=8, quant_axis=-1, round_type=0}
dequantize_linear(Scale=w.s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
mul(X=x.d, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
softmax(X=y) -> (Out=z)
fetch(X=z) -> (Out=fetch) {col=0}
)";

constexpr char kParameters[] = R"(s f32[1] 2
w.int8 i8[2,2] 127 1 2 3
w.s f32[1] 1
zero i32[1] 0
)";

class TranspileLower : public testing::Test {
 protected:
  TranspileLower() {
    folder_.Write("net.txt", kPortable);
    const Program program = ParsedProgram(kPortable);
    const auto scope = ParseParameters(kParameters, "parameters");
    EXPECT_TRUE(scope.ok()) << scope.status();
    auto combined = StageCombinedParameters(program.Proto(), *scope, folder_.Path("net.params"));
    auto separate = StageSeparateParameters(program.Proto(), *scope, folder_.Path("params"));
    EXPECT_TRUE(combined.ok() && combined->Commit().ok()) << combined.status();
    EXPECT_TRUE(separate.ok() && separate->Commit().ok()) << separate.status();
  }

  BinaryRun Run(std::vector<std::string> arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    arguments.insert(arguments.begin(), {"--mode=lower", "net.txt"});
    return RunBinary("tools/transpile", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(TranspileLower, TellsByOpTypeWhatIsComputedOnIntegers) {
  const BinaryRun run = Run({"--params=net.params"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "op type              ops   integers  other\n"
            "dequantize_linear      2          0  2 at_edge\n"
            "mul                    1          1  -\n"
            "quantize_linear        1          0  1 at_edge\n"
            "softmax                1          0  1 no_rule\n"
            "total                  5          1  4\n"
            "computed on integers: 1 of 2 ops (50 %), beside 3 between floats and codes\n"
            "wrote net.lowered.txt\n"
            "wrote net.lowered.params\n");
}

TEST_F(TranspileLower, TellsOfEveryOpWhatBecameOfIt) {
  const BinaryRun run = Run({"--params=net.params", "--explain", "--dry_run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(
      run.out,
      StartsWith("block 0, op 0 (quantize_linear) -> x.q: at_edge: the edge: between floats and "
                 "codes\n"
                 "block 0, op 1 (dequantize_linear) -> x.d: at_edge: the edge: between floats and "
                 "codes\n"
                 "block 0, op 2 (dequantize_linear) -> w: at_edge: the edge: between floats and "
                 "codes\n"
                 "block 0, op 3 (mul) -> y: on_integers: integers: its inputs are codes\n"
                 "block 0, op 4 (softmax) -> z: no_rule: float: no rule computes its type on "
                 "integers\n"
                 "\n"
                 "op type "));
}

TEST_F(TranspileLower, SaysOnStandardErrorWhichOpsNothingHereRuns) {
  std::string program = kPortable;
  program.replace(program.find("softmax"), 7, "their_own_softmax");
  folder_.Write("net.txt", program);
  const BinaryRun run = Run({"--params=net.params"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err,
            "net.txt: infer cannot run the result: no backend runs op types their_own_softmax "
            "(block 0, op 4)\n");
  EXPECT_THAT(run.out, HasSubstr("wrote net.lowered.txt\n"));
}

// The place is that in the program that is lowered, whatever was inserted before.
TEST_F(TranspileLower, TellsOfEveryOpAsJson) {
  const BinaryRun run = Run({"--params=net.params", "--json", "--dry_run"});
  EXPECT_THAT(run.out, HasSubstr("    {\n"
                                 "      \"block\": 0,\n"
                                 "      \"op\": 4,\n"
                                 "      \"type\": \"softmax\",\n"
                                 "      \"output\": \"z\",\n"
                                 "      \"reason\": \"no_rule\"\n"
                                 "    }\n"));
}

TEST_F(TranspileLower, ProgramAndParametersBelongTogether) {
  const BinaryRun run = Run({"--params=net.params"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Program lowered = ParsedProgram(folder_.Read("net.lowered.txt"));
  EXPECT_THAT(folder_.Read("net.lowered.txt"), HasSubstr("integer_mul("));
  const auto scope = LoadParameters(lowered.Proto(), folder_.Path("net.lowered.params"));
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_THAT(PrintParameters(*scope), HasSubstr("w.int8 i8[2,2] 127 1 2 3\n"));
}

TEST_F(TranspileLower, SeparateParametersStaySeparate) {
  const BinaryRun run = Run({"--params=params", "--output=out.txt", "--params_output=integers"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(folder_.Files(),
              ElementsAre("integers/w.int8", "integers/y.scales", "net.params", "net.txt",
                          "out.txt", "params/s", "params/w.int8", "params/w.s", "params/zero"));
}

TEST_F(TranspileLower, RoundingThatChangesIsNoted) {
  folder_.Write("net.txt", absl::StrReplaceAll(kPortable, {{"round_type=0", "round_type=1"}}));
  const BinaryRun run = Run({"--params=params", "--dry_run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("net.txt: quantizers that round ties away from zero, "));
}

TEST_F(TranspileLower, DryRunWritesNothing) {
  const std::vector<std::string> before = folder_.Files();
  const BinaryRun run = Run({"--params=params", "--dry_run", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("  \"integers\": 1,\n  \"edges\": 3,\n  \"floats\": 1,\n"));
  EXPECT_THAT(run.out, HasSubstr("\"no_rule\": 1"));
  EXPECT_EQ(folder_.Files(), before);
}

TEST_F(TranspileLower, PrintsTheProgramAfterItsPasses) {
  const BinaryRun run = Run({"--params=params", "--print_after=lower_to_integers", "--dry_run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("# after lower_to_integers\n"));
  EXPECT_THAT(run.err, HasSubstr("var w f32[2,2]"));  // which the next pass removes
}

}  // namespace
}  // namespace fixpoint
