// transpile --mode=test and --mode=freeze as a user runs them, and what leads to them from a float
// program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = R"(var x f32[-1,2]
var s f32[1] persistable
var x.d f32[-1,2]
var w f32[2] persistable
var w.d f32[2]
var w.s f32[1]
var y f32[-1,2]
var fetch fetch_list persistable
fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=s) -> (Out=x.d, OutScale=s) {bit_length=8, is_test=false}
fake_quantize_dequantize_abs_max(X=w) -> (Out=w.d, OutScale=w.s) {bit_length=8}
elementwise_mul(X=x.d, Y=w.d) -> (Out=y) {axis=-1}
fetch(X=y) -> (Out=fetch) {col=0}
)";

// A tensor of one file: version, no levels of detail, version, description, elements.
std::string TensorFile(char extent, const std::string& elements) {
  return std::string(16, '\0') + std::string("\x04\0\0\0\x08\x05\x10", 7) + extent + elements;
}
const std::string kTwo("\0\0\0\x40", 4);
const std::string kMinusOne("\0\0\x80\xbf", 4);

class TranspileInference : public testing::Test {
 protected:
  TranspileInference() {
    folder_.Write("net.txt", kProgram);
    folder_.Write("net.params", TensorFile(1, kTwo) + TensorFile(2, kTwo + kMinusOne));
    folder_.Write("params/s", TensorFile(1, kTwo));
    folder_.Write("params/w", TensorFile(2, kTwo + kMinusOne));
  }

  BinaryRun Run(std::vector<std::string> arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    arguments.push_back("net.txt");
    return RunBinary("tools/transpile", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(TranspileInference, TestProgramGoesBesideTheProgram) {
  const BinaryRun run = Run({"--mode=test"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "wrote net.test.txt\n");
  EXPECT_THAT(folder_.Read("net.test.txt"), HasSubstr("{bit_length=8, is_test=true}"));
}

TEST_F(TranspileInference, CombinedParametersStayCombined) {
  const BinaryRun run = Run({"--mode=freeze", "--params=net.params"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "quantized weights: 1, 8 bytes of float, 2 bytes of codes\n"
            "wrote net.frozen.txt\n"
            "wrote net.frozen.params\n");
  EXPECT_THAT(folder_.Read("net.frozen.txt"), HasSubstr("var w.int8 i8[2] persistable"));
  EXPECT_THAT(folder_.Read("net.frozen.params"), HasSubstr("\x7f\xc0"));  // 127, -64
}

TEST_F(TranspileInference, SeparateParametersStaySeparate) {
  const BinaryRun run =
      Run({"--mode=freeze", "--params=params", "--output=out.txt", "--params_output=frozen"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(folder_.Files(),
              ElementsAre("frozen/s", "frozen/s.zero_point", "frozen/w.int8", "frozen/w.int8.scale",
                          "frozen/w.int8.scale.zero_point", "net.params", "net.txt", "out.txt",
                          "params/s", "params/w"));
}

TEST_F(TranspileInference, WhatFollowsADotOfAFoldersNameIsNoExtension) {
  folder_.Write("models/v1.2/s", TensorFile(1, kTwo));
  folder_.Write("models/v1.2/w", TensorFile(2, kTwo + kMinusOne));
  for (const char* params : {"--params=models/v1.2", "--params=models/v1.2/"}) {
    const BinaryRun run = Run({"--mode=freeze", params});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("wrote models/v1.2.frozen\n"));
  }
}

// The codes of its weights are stored as INT8, and multiplied as the numbers that they are.
TEST_F(TranspileInference, LegacyInt8ComputesWhatLegacyDoes) {
  folder_.Write("net.txt", R"(var x f32[-1,2]
var s f32[1] persistable
var x.d f32[-1,2]
var w f32[2,2] persistable
var w.d f32[2,2]
var w.s f32[1]
var y f32[-1,2]
var fetch fetch_list persistable
fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=s) -> (Out=x.d, OutScale=s) {bit_length=8, is_test=false}
fake_quantize_dequantize_abs_max(X=w) -> (Out=w.d, OutScale=w.s) {bit_length=8}
mul(X=x.d, Y=w.d) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
fetch(X=y) -> (Out=fetch) {col=0}
)");
  folder_.Write("params/w", std::string(16, '\0') +
                                std::string("\x06\0\0\0\x08\x05\x10\x02\x10\x02", 10) + kTwo +
                                kMinusOne + kMinusOne + kTwo);
  folder_.Write("x.npy", *NpyBytes(Tensor::FromValues<float>({2, 2}, {1, -0.7f, 1.9f, 0.3f})));
  for (const std::string form : {"legacy", "legacy_int8"}) {
    const BinaryRun run = Run({"--mode=freeze", "--params=params", "--frozen_form=" + form,
                               "--output=" + form + ".txt", "--params_output=" + form});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_THAT(folder_.Files(), Contains("legacy_int8/w.int8"));
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  for (const std::string backend : {"onednn", "reference"}) {
    const BinaryRun run =
        RunBinary("tools/infer",
                  {"legacy_int8.txt", "--params=legacy_int8", "--compare=legacy.txt",
                   "--compare_params=legacy", "--feeds=x=x.npy", "--backend=" + backend},
                  options);
    EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
    EXPECT_THAT(run.out, HasSubstr("\ny "));
  }
}

TEST_F(TranspileInference, WhatIsNotAllFrozenIsSaidToBeSo) {
  const BinaryRun run = Run({"--mode=freeze", "--params=net.params", "--stop_after=freeze_scales"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("net.txt: the pipeline ended after freeze_scales: the program is "
                                 "only partly frozen, and not checked\n"));
}

// A disk that is full after 40 bytes of a file.
TEST_F(TranspileInference, WhatDoesNotFitOnTheDiskIsNotHalfWritten) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  options.largest_file = 40;
  const std::vector<std::string> before = folder_.Files();
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--mode=test"},
                                                {"--mode=freeze", "--params=net.params"},
                                                {"--mode=freeze", "--params=params"},
                                                {"--output=out.txt", "--save_plan=out.plan"}}) {
    std::vector<std::string> arguments = {"net.txt"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunBinary("tools/transpile", arguments, options).exit_code, 5) << flags[0];
    EXPECT_EQ(folder_.Files(), before) << flags[0];
  }
}

TEST_F(TranspileInference, DryRunWritesNothing) {
  const BinaryRun run = Run({"--mode=freeze", "--params=params", "--dry_run", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"quantized_weights\""));
  EXPECT_THAT(folder_.Files(), ElementsAre("net.params", "net.txt", "params/s", "params/w"));
}

// A float program, of which one op goes.
constexpr char kFloatProgram[] = R"(var x f32[-1,2]
var w f32[2] persistable
var y f32[-1,2]
var z f32[-1,2]
var fetch fetch_list persistable
elementwise_add(X=x, Y=w) -> (Out=y)
assign(X=y) -> (Out=z)
fetch(X=z) -> (Out=fetch) {col=0}
)";

TEST_F(TranspileInference, PreparesAProgramAndUndoesThat) {
  folder_.Write("net.txt", kFloatProgram);
  const BinaryRun run = Run({"--mode=prepare", "--params=params", "--explain"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "block 0, op 1 (assign) \"z\": removed by remove_identities\n"
            "block 0, op 2 (fetch) \"fetch\": changed by remove_identities\n"
            "remove_identities: assign 1, fetch 1\n"
            "wrote net.prepared.txt\nwrote params.prepared\n");
  EXPECT_THAT(folder_.Files(), Contains("params.prepared/w"));
  const BinaryRun json = Run({"--mode=prepare", "--params=params", "--json", "--dry_run"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"pass\": \"remove_identities\""));
  const BinaryRun nothing =
      Run({"--mode=prepare", "--params=params", "--stop_after=separate_writes", "--dry_run"});
  EXPECT_EQ(nothing.out, "nothing to prepare\n");
}

TEST_F(TranspileInference, HelpTellsTheFlagsOfEachMode) {
  const BinaryRun run = Run({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  std::vector<std::string> titles;
  for (absl::string_view line : absl::StrSplit(run.out, '\n')) {
    if (absl::EndsWith(line, ":")) titles.emplace_back(line);
  }
  EXPECT_THAT(
      titles,
      ElementsAre("What to do:", "Flags of train, test, rewrite, prepare, freeze, lower and undo:",
                  "Flags of train, rewrite, prepare, freeze and lower:", "Flags of train:",
                  "Flags of train and rewrite:", "Flags of train, prepare, freeze and lower:",
                  "Flags of train, rewrite, prepare and lower:", "Flags of prepare:",
                  "Flags of freeze:", "Examples:"));
}

TEST_F(TranspileInference, WhatIsWrongIsToldByExitCode) {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{"--mode=deploy", "--json"},
       2,
       "--mode=deploy; there are train, test, rewrite, prepare, freeze and lower"},
      {{"--mode=freeze", "--startup=s"},
       2,
       "--startup is not a flag of freeze; it is one of train"},
      {{"--mode=test", "--json"},
       2,
       "--json is not a flag of test; it is one of train, rewrite, prepare, freeze and lower"},
      {{"--fetches=y"}, 2, "--fetches is not a flag of train; it is one of freeze"},
      {{"--mode=test", "--params=params"},
       2,
       "--params is not a flag of test; it is one of train, prepare, freeze and lower"},
      {{"--undo", "--explain"},
       2,
       "--explain is not a flag of undo; it is one of train, rewrite, prepare and lower"},
      {{"--undo", "--mode=freeze"}, 2, "--undo has no modes; leave --mode out"},
      {{"--mode=freeze"}, 2, "--mode=freeze needs the trained parameters"},
      {{"--mode=freeze", "--params=params", "--frozen_form=onnx"},
       2,
       "--frozen_form=onnx; there are portable, legacy and legacy_int8"},
      {{"--mode=freeze", "--params=params", "--params_output=params"},
       2,
       "the output would replace the input params"},
      {{"--mode=freeze", "--params=missing"}, 3, "missing"},
      {{"--mode=freeze", "--params=params", "--fetches=z"},
       2,
       "--fetches: block 0 of net.txt has no variable \"z\"; there is y"},
      {{"--mode=freeze", "--params=params", "--feeds=z"},
       2,
       "--feeds: block 0 of net.txt has no variable \"z\""},
  };
  for (const Case& c : cases) {
    const BinaryRun run = Run(c.arguments);
    EXPECT_EQ(run.exit_code, c.exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.error));
    EXPECT_EQ(run.out, "");
  }
}

// A program of inference and its parameters: the scale of x comes from the profile.
class QuantizedByProfile : public testing::Test {
 protected:
  QuantizedByProfile() {
    folder_.Write("net.txt", R"(var x f32[-1,2]
var w f32[2,1] persistable
var y f32[-1,1]
var fetch fetch_list persistable
mul(X=x, Y=w) -> (Out=y)
fetch(X=y) -> (Out=fetch) {col=0}
)");
    folder_.Write("params/w", std::string(16, '\0') +
                                  std::string("\x06\0\0\0\x08\x05\x10\x02\x10\x01", 10) +
                                  std::string("\0\0\0\x40\0\0\x80\xbf", 8));
    folder_.Write("x.profile", R"(entries { variable: "x" min: 0 max: 8 count: 1000001
  positive { bins: [4064, 4160] counts: [1000000, 1] } })");
  }

  BinaryRun Run(const std::vector<std::string>& arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    return RunBinary("tools/transpile", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(QuantizedByProfile, IsFrozenWithTheParametersThatTranspileWrites) {
  const BinaryRun run =
      Run({"net.txt", "--profile=x.profile", "--params=params", "--target=onednn_int8"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrote net.quantized.txt\nwrote params.quantized\n"));
  EXPECT_THAT(folder_.Files(), Not(Contains("net.quantized.startup.txt")));
  EXPECT_THAT(folder_.Read("params.quantized/x@scale"), EndsWith(std::string("\0\0\0\x41", 4)));
  EXPECT_EQ(folder_.Read("params.quantized/w"), folder_.Read("params/w"));
  const BinaryRun freeze = Run({"--mode=freeze", "--params=params.quantized", "net.quantized.txt"});
  EXPECT_EQ(freeze.exit_code, 0) << freeze.err;
}

TEST_F(QuantizedByProfile, TakesTheRangeThatTheRuleChooses) {
  folder_.Write("c.textproto",
                "target: \"onednn_int8\" activations { range_rule: PERCENTILE percentile: 99.9 }");
  const BinaryRun run = Run({"net.txt", "--profile=x.profile", "--params=params",
                             "--config=c.textproto", "--params_output=q"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // 1.03125, the upper end of the bin of 1.
  EXPECT_THAT(folder_.Read("q/x@scale"), EndsWith(std::string("\0\0\x84\x3f", 4)));
}

TEST_F(QuantizedByProfile, NeedsOnePlaceForNewValues) {
  EXPECT_THAT(Run({"net.txt", "--params=params", "--startup=s.txt"}).err,
              HasSubstr("--params and --startup: one of them at a time"));
  EXPECT_THAT(Run({"net.txt", "--params_output=q"}).err,
              HasSubstr("--params_output needs the parameters"));
}

}  // namespace
}  // namespace fixpoint
