// quantize as a user runs it: what it writes, and that all that it writes agrees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/quantize_fixture.h"

namespace fixpoint {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(QuantizeTool, WritesAFolderWithAllForms) {
  const BinaryRun run = Run({});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("computed on integers: 5 of 5 ops (100 %)\n"));
  EXPECT_THAT(run.out, HasSubstr("simulated, portable and lowered programs agree to the bit: "));
  EXPECT_THAT(run.out, HasSubstr("signal to noise ratio of y: "));
  EXPECT_THAT(run.out, HasSubstr("wrote out\n"));
  EXPECT_THAT(FilesOf("out"),
              ElementsAre("config.textproto", "lowered.pdiparams", "lowered.pdmodel",
                          "plan.textproto", "portable.pdiparams", "portable.pdmodel",
                          "profile.textproto", "report.html", "report.textproto"));
  EXPECT_EQ(folder_.Read("out/config.textproto"), "target: \"onednn_int8\"\n");
  for (const std::string form : {"portable", "lowered"}) {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    const BinaryRun infer =
        RunBinary("tools/infer",
                  {absl::StrCat("out/", form, ".pdmodel"),
                   absl::StrCat("--params=out/", form, ".pdiparams"), "--data=npz:samples.npz"},
                  options);
    EXPECT_EQ(infer.exit_code, 0) << infer.err;
    EXPECT_EQ(infer.out, "samples 40, accuracy 100.00 %\n");
  }

  ASSERT_EQ(Run({"--threads=2", "--output=other"}).exit_code, 0);
  ExpectSame("out", "other");
}

TEST_F(QuantizeTool, TakesQuantizersAsText) {
  folder_.Write("wide.txt", R"(quantizer wide "Half as much again as the largest value."
states:
  number() -> (Out=share) {trained=true}
initial:
  reduce_max(X=x) -> (Out=most)
  scale(X=most) -> (Out=share) {scale=0.5}
forward:
  scale(X=share) -> (Out=range) {scale=3.0}
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out)
)");
  folder_.Write("wide.textproto", "activations { quantizer: \"wide\" form: FUSED }");
  const BinaryRun run = Run({"--quantizers=wide.txt", "--config=wide.textproto"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("computed on integers: 5 of 5 ops (100 %)\n"));
  EXPECT_THAT(folder_.Read("out/plan.textproto"), HasSubstr("quantizer: \"wide\""));

  const BinaryRun without = Run({"--config=wide.textproto", "--output=other"});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.err, HasSubstr("there is no quantizer \"wide\""));
}

// No step trains them: ops of `initial:` compute them from the weights.
TEST_F(QuantizeTool, TrainedRangesOfWeightsBeginWithWhatTheWeightsTell) {
  for (const std::string quantizer : {"channel_wise_lsq", "tqt"}) {
    folder_.Write("w.textproto",
                  absl::StrCat("weights { quantizer: \"", quantizer, "\" form: FUSED }"));
    const BinaryRun run = Run({"--config=w.textproto", absl::StrCat("--output=", quantizer)});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("computed on integers: 5 of 5 ops (100 %)\n"));
  }
}

TEST_F(QuantizeTool, MeasuresInFloatAndOnIntegersAndReports) {
  EXPECT_THAT(Run({"--metric=-mean"}).out, HasSubstr("-mean (less is better): "));
  EXPECT_THAT(Run({"--metric=mean"}).out, HasSubstr("mean (larger is better): "));
  EXPECT_THAT(
      Run({"--metric=accuracy", "--eval_data=npz:few.npz"}).out,
      HasSubstr("accuracy: 100.00 % in float (standard error 0.00 %), 100.00 % on integers, on 3 "
                "samples: drop 0.00 points\n"));
  const std::string report = folder_.Read("out/report.textproto");
  EXPECT_THAT(report, HasSubstr("tool: \"quantize\"\nprogram: \"net.txt\"\n"));
  EXPECT_THAT(report, HasSubstr("name: \"accuracy\"\n  higher_is_better: true\n  before: 100\n"));
  EXPECT_THAT(report, HasSubstr("signal_to_noise: "));
  EXPECT_THAT(report, HasSubstr("forms {\n  name: \"lowered\"\n"));
  EXPECT_THAT(folder_.Read("out/report.html"), HasSubstr("net.txt"));
}

TEST_F(QuantizeTool, PrintsJson) {
  const BinaryRun run = Run({"--json", "--metric=accuracy", "--samples=1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, testing::MatchesRegex(R"(\{
  "schema_version": 1,
  "program": "net.txt",
  "output": "out",
  "target": "onednn_int8",
  "notes": \[
    "only 1 sample: the ranges of others may be larger",
    "the metric is of the samples that ranges come from; others tell more [(]--eval_data[)]"
  \],
  "ops": 3,
  "quantized_ops": 2,
  "ops_on_integers": 5,
  "ops_in_float": 0,
  "compared": \{
    "samples": 1,
    "elements": [0-9]+,
    "ties": 0
  \},
  "outputs": \[
    \{
      "name": "y",
      "signal_to_noise_db": [0-9.]+
    \}
  \],
  "metric": \{
    "name": "accuracy",
    "unit": "%",
    "samples": 40,
    "float": 100,
    "integers": 100,
    "drop": 0,
    "standard_error": 0
  \},
  "float": \{
    "parameter_bytes": [0-9]+,
    "activation_bytes": [0-9]+
  \},
  "lowered": \{
    "parameter_bytes": [0-9]+,
    "activation_bytes": [0-9]+
  \}
\}
)"));
}

TEST_F(QuantizeTool, TiesThatIntegersRoundInAnotherWayAreToldAndNoError) {
  const BinaryRun run = Run({"--target=paddle_2_6"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("quantizers that round ties away from zero"));
}

TEST_F(QuantizeTool, MethodsForWeightsGiveFormsThatAgree) {
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--smooth"}, {"--equalize", "--correct_biases", "--rounding=learned"}}) {
    const BinaryRun run = Run(flags);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("programs agree to the bit"));
  }
  EXPECT_EQ(Run({"--rounding=up"}).exit_code, 2);
}

TEST_F(QuantizeTool, LowersCodesOfMoreThanAByte) {
  folder_.Write("config.textproto", "target: \"paddle_2_6\" weights { bits: 16 }\n");
  const BinaryRun run = Run({"--config=config.textproto"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesOf("out"), Contains("lowered.pdmodel"));
}

TEST_F(QuantizeTool, RefusesToQuantizeNothing) {
  folder_.Write("config.textproto",
                "rules { op_type: \"conv2d\" skip: true } rules { op_type: \"mul\" skip: true }\n");
  const BinaryRun run = Run({"--config=config.textproto"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("net.txt: nothing is quantized, by this target"));
  EXPECT_THAT(FilesOf("out"), ElementsAre());
}

// The network of the manual, with too few bits for its data.
class QuantizeSearch : public QuantizeTool {
 protected:
  QuantizeSearch() {
    folder_.Write("few.textproto", "weights { bits: 2 } activations { bits: 3 }\n");
    for (const char* file : {"digits.pdmodel", "digits.pdiparams"}) {
      std::filesystem::copy_file(absl::StrCat("examples/data/", file), folder_.Path(file));
    }
  }

  std::vector<std::string> Arguments(std::vector<std::string> arguments) const {
    for (const char* flag : {"digits.pdmodel", "--params=digits.pdiparams", "--data=digits:200",
                             "--samples=64", "--output=out", "--notimes"}) {
      arguments.emplace_back(flag);
    }
    return arguments;
  }

  BinaryRun Search(const std::vector<std::string>& arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    return RunBinary("tools/quantize", Arguments(arguments), options);
  }
};

TEST_F(QuantizeSearch, FindsWhatHasToStayAtMoreBits) {
  const BinaryRun run = Search({"--metric=accuracy", "--max_drop=2.5", "--config=few.textproto"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("kept at 8 bits: "));
  EXPECT_THAT(run.out, HasSubstr("the bound holds: a drop of "));
  EXPECT_THAT(folder_.Read("out/config.textproto"), HasSubstr("spec {\n    bits: 8\n"));
  EXPECT_THAT(folder_.Read("out/report.textproto"), HasSubstr("  sensitivity: "));
  const std::string found = folder_.Read("out/lowered.pdiparams");

  // The rules lead there without a search.
  const BinaryRun again = Search({"--config=out/config.textproto"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(folder_.Read("out/lowered.pdiparams") == found);
}

// With nearest rounding the same plan drops by more than the bound.
TEST_F(QuantizeSearch, MeasuresWhatItWritesWithTheMethodsForWeights) {
  const std::string config = "--config=few.textproto";
  const BinaryRun nearest = Search({"--metric=accuracy", "--max_drop=20", config});
  EXPECT_THAT(nearest.out, HasSubstr("kept at 8 bits: 1 of 4 layers: logits\n"));
  EXPECT_THAT(nearest.out, HasSubstr("a drop of 15.00 points of at most 20; "));
  const BinaryRun run = Search({"--metric=accuracy", "--max_drop=8", "--correct_biases", config});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("kept at 8 bits: 1 of 4 layers: logits.sums\n"));
  EXPECT_THAT(run.out, HasSubstr("the bound holds: a drop of 7.50 points of at most 8; "));
  EXPECT_THAT(run.out,
              HasSubstr("accuracy: 97.50 % in float (standard error 2.47 %), 90.00 % on integers"));
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  const BinaryRun infer = RunBinary(
      "tools/infer", {"out/lowered.pdmodel", "--params=out/lowered.pdiparams", "--data=digits:200"},
      options);
  EXPECT_EQ(infer.out, "images 40, accuracy 90.00 %\n");
}

TEST_F(QuantizeSearch, SaysThatABoundIsWithinChance) {
  const std::string note =
      "the bound on the drop of accuracy, 2, is less than one standard error of it on 40 samples, "
      "2.4686: on other samples it may not hold; measure on more";
  const BinaryRun run = Search({"--metric=accuracy", "--max_drop=2"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" on integers, on 40 samples: drop 0.00 points\n"));
  EXPECT_EQ(run.err, absl::StrCat("digits.pdmodel: ", note, "\n"));
  EXPECT_THAT(folder_.Read("out/report.textproto"), HasSubstr(note));
  EXPECT_EQ(Search({"--metric=accuracy", "--max_drop=2.5"}).err, "");
}

TEST_F(QuantizeSearch, SpendsABudgetOnFloat) {
  const BinaryRun run = Search({"--budget=10KB"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("kept in float: 3 of 4 layers: conv1.out, conv2.out, logits\n"));
  EXPECT_THAT(run.out, HasSubstr("the bound holds: 9232 bytes of at most 10000 bytes; "));
  EXPECT_THAT(folder_.Read("out/report.textproto"),
              HasSubstr("notes: \"kept in float: 3 of 4 layers: conv1.out, conv2.out, logits\"\n"));
}

TEST_F(QuantizeSearch, SaysWhereNoPlanHoldsTheBoundAndWritesTheBest) {
  const BinaryRun slow = Search({"--budget=1000ms"});
  EXPECT_EQ(slow.exit_code, 4) << slow.err;
  EXPECT_THAT(slow.err, HasSubstr(" ms, which is within the budget of 1000.000 ms"));
  const BinaryRun small = Search({"--budget=1KB"});
  EXPECT_EQ(small.exit_code, 1) << small.err;
  EXPECT_THAT(
      small.out,
      HasSubstr("no plan holds the bound; the best: 5660 bytes; wanted is at most 1000 bytes; "));
  EXPECT_EQ(FilesOf("out").size(), 9U);
  const BinaryRun json = Search({"--budget=1KB", "--json"});
  EXPECT_EQ(json.exit_code, 1) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"bound_on\": \"bytes\",\n    \"bound\": 1000,\n"
                                  "    \"reached\": 5660,\n    \"holds\": false,\n"));
  const BinaryRun large = Search({"--budget=1MB"});
  EXPECT_EQ(large.exit_code, 4) << large.err;
  EXPECT_THAT(large.err, HasSubstr("the float network takes 21392 bytes, which is within"));
}

TEST_F(QuantizeSearch, RefusesBoundsThatAreNone) {
  for (const auto& [flags, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--max_drop=1"}, "--max_drop needs what may drop: --metric=NAME"},
           {{"--max_drop=-1", "--metric=accuracy"}, "--max_drop=-1; want a number from 0"},
           {{"--max_drop=1", "--metric=accuracy", "--budget=1MB"}, "want one of them"},
           {{"--budget=many"}, "--budget: \"many\" is no budget"}}) {
    const BinaryRun run = Search(flags);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  EXPECT_THAT(FilesOf("out"), ElementsAre());
}

TEST_F(QuantizeSearch, WhatWasMeasuredIsNotThrownAwayUnasked) {
  folder_.Write("out.partial/measurements.textproto", "");
  const BinaryRun run = Search({"--budget=10KB"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("out.partial has what a run that was interrupted has measured; go "
                                 "on with it (--resume), or remove it"));
}

TEST_F(QuantizeSearch, AnInterruptedRunSaysHowToGoOnAndRefusesToWithAnotherFlag) {
  const std::vector<std::string> flags = {"--metric=accuracy", "--max_drop=2",
                                          "--config=few.textproto", "--eval_data=digits:10000"};
  RunBinaryOptions options;
  options.signal = SIGINT;
  BinaryRun run;
  // A signal that comes before the work has begun ends the process at once.
  for (options.kill_after = std::chrono::milliseconds(60); run.err.empty();
       options.kill_after += options.kill_after / 8) {
    run = Search(flags, options);
    ASSERT_EQ(run.exit_code, 128 + SIGINT) << run.out;
  }
  EXPECT_EQ(run.err,
            "interrupted: out.partial has what was measured and learned so far; the same command "
            "with --resume goes on from there\n");
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(FilesOf("out"), ElementsAre());
  const std::vector<std::string> kept = FilesOf("out.partial");
  EXPECT_THAT(kept, testing::Contains("measurements.textproto"));

  for (const auto& [flag, was, is] : std::vector<std::array<const char*, 3>>{
           {"--seed=3", "--seed=0", "--seed=3"},
           {"--target=paddle_2_6", "--target=onednn_int8", "--target=paddle_2_6"},
           {"--rounding=learned", "--rounding=nearest", "--rounding=learned"}}) {
    std::vector<std::string> others = flags;
    others.insert(others.end(), {"--resume", flag});
    run = Search(others);
    EXPECT_EQ(run.exit_code, 3) << run.err;
    EXPECT_EQ(run.err,
              absl::StrCat("quantize: out.partial/measurements.textproto: was saved by a "
                           "run with ",
                           was, ", and this one has ", is, "; want the same, or no --resume\n"));
    EXPECT_EQ(FilesOf("out.partial"), kept);
  }
  std::vector<std::string> others = flags;
  others[3] = "--eval_data=digits:100";
  others.emplace_back("--resume");
  EXPECT_THAT(Search(others).err, testing::MatchesRegex(".* with --eval_data of checksum "
                                                        "[0-9a-f]+, and this one has --eval_data "
                                                        "of checksum [0-9a-f]+; want .*\n"));
}

TEST_F(QuantizeSearch, GoesOnAfterItWasKilled) {
  const std::vector<std::string> flags = {"--metric=accuracy", "--max_drop=8", "--correct_biases",
                                          "--config=few.textproto", "--resume"};
  const auto begin = std::chrono::steady_clock::now();
  const BinaryRun whole = Search(flags);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::filesystem::rename(folder_.Path("out"), folder_.Path("whole"));

  int killed = 0;
  BinaryRun run;
  for (int i = 1; i <= 4 && (run.exit_code != 0 || i == 1); ++i) {
    RunBinaryOptions options;
    options.kill_after = longest * i / 6;
    run = Search(flags, options);
    if (run.exit_code == 128 + 9) ++killed;
    EXPECT_THAT(FilesOf("out").size(), AnyOf(0U, 9U));
  }
  EXPECT_GE(killed, 1);
  run = Search(flags);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, whole.out) << "with as many measurements";
  ExpectSame("out", "whole");
  EXPECT_THAT(FilesOf("out.partial"), ElementsAre());
}

}  // namespace
}  // namespace fixpoint
