// train as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/backends.h"
#include "runtime/backward_precision.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/train_fixture.h"

namespace fixpoint {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// The lines of metrics without what a clock says.
std::string WithoutSeconds(const std::string& metrics) {
  std::vector<std::string> lines = absl::StrSplit(metrics, '\n');
  for (std::string& line : lines) line = line.substr(0, line.find(", \"seconds\""));
  return absl::StrJoin(lines, "\n");
}

TEST_F(Train, TellsWhatItMeasuresAndWritesTheParameters) {
  const BinaryRun run = Run({"--epochs=4", "--eval_every=10", "--save=params"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, MatchesRegex("step 10, epoch 2: test loss [0-9.]+, accuracy [0-9.]+ %\n"
                                    "step 20, epoch 4: test loss [0-9.]+, accuracy [0-9.]+ %\n"
                                    "wrote params\n"));
  EXPECT_THAT(folder_.Files(), ElementsAre("mlp.startup.txt", "mlp.txt", "params/fc_0.b_0",
                                           "params/fc_0.b_0_velocity_0", "params/fc_0.w_0",
                                           "params/fc_0.w_0_velocity_0", "params/fc_1.b_0",
                                           "params/fc_1.b_0_velocity_0", "params/fc_1.w_0",
                                           "params/fc_1.w_0_velocity_0", "params/learning_rate_0"));
}

TEST_F(Train, LearnsTheDigits) {
  const BinaryRun run = Run({"--epochs=40"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string accuracy = run.out.substr(run.out.rfind("accuracy ") + 9);
  EXPECT_GE(std::atof(accuracy.c_str()), 50) << run.out;
}

TEST_F(Train, MetricsAreALineOfJsonForEachStepAndEvaluation) {
  const BinaryRun run = Run({"--steps=2", "--metrics=-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, MatchesRegex(R"(\{"step": 1, "loss": [0-9.]+, "accuracy": [0-9.]+, )"
                                    R"("seconds": [0-9.e-]+\}
\{"step": 2, "loss": [0-9.]+, "accuracy": [0-9.]+, "seconds": [0-9.e-]+\}
\{"step": 2, "test_loss": [0-9.]+, "test_accuracy": [0-9.]+\}
)"));
  EXPECT_THAT(run.err, StartsWith("step 2, epoch 0: test loss "));
}

TEST_F(Train, ReportsCurvesAndRangesAsAPageOrAsText) {
  ASSERT_EQ(RunBinary("tools/transpile",
                      {folder_.Path("mlp.txt"), "--startup", folder_.Path("mlp.startup.txt")})
                .exit_code,
            0);
  const std::vector<std::string> flags = {"--data=digits:100", "--batch_size=20", "--steps=4",
                                          "--eval_every=2"};
  const auto run = [&](const std::string& report) {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    std::vector<std::string> arguments = {
        "mlp.quantized.txt", "--startup=mlp.startup.quantized.txt", "--report=" + report};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const BinaryRun run = RunBinary("tools/train", arguments, options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, EndsWith("wrote " + report + "\n"));
    return folder_.Read(report);
  };
  const std::string text = run("run.textproto");
  EXPECT_THAT(text, HasSubstr("program: \"mlp.quantized.txt\"\n"));
  EXPECT_THAT(text, Not(HasSubstr(folder_.Path())));
  for (const char* curve : {"loss", "accuracy", "test loss", "test accuracy", "learning rate"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("curves {\n  name: \"", curve, "\"\n")));
  }
  EXPECT_THAT(text, ContainsRegex("variable: \"relu_0.tmp_0\"\n  role: ACTIVATION\n"));
  EXPECT_THAT(text, HasSubstr("variable: \"fc_0.w_0\"\n  role: WEIGHT\n"));
  EXPECT_EQ(run("again.textproto"), text);
  EXPECT_TRUE(absl::StartsWith(run("run.html"), "<!DOCTYPE html>\n"));
}

TEST_F(Train, TrainsOnArraysAndEvaluatesOnlyIfThereIsDataForIt) {
  ASSERT_EQ(Run({"--steps=1", "--dump=image,label", "--dump_output=own.npz"}).exit_code, 0);
  const BinaryRun evaluated = RunOnOtherData(
      {"--data=npz:own.npz", "--eval_data=digits:100", "--steps=3", "--save=evaluated"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out, MatchesRegex("step 3, epoch 3: test loss [0-9.]+, accuracy [0-9.]+ %\n"
                                          "wrote evaluated\n"));
  const BinaryRun alone = RunOnOtherData({"--data=npz:own.npz", "--steps=3", "--save=alone"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.out, "wrote alone\n");
  EXPECT_EQ(BytesOf("alone"), BytesOf("evaluated"));
}

TEST_F(Train, WhatIsWrongWithDataIsTold) {
  const BinaryRun nothing = RunOnOtherData({"--data=npz:nowhere.npz", "--eval_every=1"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--eval_every: there is nothing to evaluate on; want "));
  const BinaryRun nowhere = RunOnOtherData({"--data=npz:nowhere.npz"});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere.npz: "));
}

TEST_F(Train, DumpsAnyTensorOrGradientOfTheLastStep) {
  const BinaryRun run =
      Run({"--steps=2", "--dump=fc_1.tmp_1, fc_0.w_0@GRAD", "--dump_output=dump.npz"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrote dump.npz\n"));
  const std::string archive = folder_.Read("dump.npz");
  EXPECT_THAT(archive, HasSubstr("fc_0.w_0@GRAD.npy"));
  EXPECT_THAT(archive, HasSubstr("'shape': (784, 16)"));
  EXPECT_THAT(archive, HasSubstr("fc_1.tmp_1.npy"));
  EXPECT_THAT(archive, HasSubstr("'shape': (20, 10)"));
}

TEST_F(Train, AResumedRunEqualsTheUninterruptedOne) {
  const std::vector<std::string> all = {"--steps=13", "--metrics=whole.jsonl", "--save=whole",
                                        "--augment_padding=2", "--augment_flip"};
  ASSERT_EQ(Run(all).exit_code, 0);
  const std::vector<std::string> flags = {"--checkpoint_dir=run",  "--checkpoint_every=3",
                                          "--metrics=parts.jsonl", "--resume",
                                          "--augment_padding=2",   "--augment_flip"};
  const auto run_to = [&](const std::string& steps, std::vector<std::string> more = {}) {
    more.insert(more.end(), flags.begin(), flags.end());
    more.push_back("--steps=" + steps);
    return Run(more);
  };
  ASSERT_EQ(run_to("4").exit_code, 0);
  // What a run writes after its last checkpoint before it is killed is written again.
  folder_.Write("parts.jsonl", folder_.Read("parts.jsonl") + "{\"step\": 5}\n");
  const BinaryRun resumed = run_to("13", {"--save=parts"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, StartsWith("resuming from run/step-4\n"));

  EXPECT_TRUE(BytesOf("whole") == BytesOf("parts"));
  // The interrupted run was evaluated at its end, too.
  std::vector<std::string> lines =
      absl::StrSplit(WithoutSeconds(folder_.Read("parts.jsonl")), '\n');
  lines.erase(lines.begin() + 4);
  EXPECT_EQ(absl::StrJoin(lines, "\n"), WithoutSeconds(folder_.Read("whole.jsonl")));
}

TEST_F(Train, MultipliesBfloat16InTheBackwardPass) {
  const auto flags = [](const std::string& backward, const std::string& save) {
    return std::vector<std::string>{"--steps=8", "--backward=" + backward, "--save=" + save};
  };
  if (!CheckBackward(kDefaultBackend, BackwardPrecision::kBfloat16).ok()) {
    GTEST_SKIP() << "for processors with AVX512_BF16";
  }
  for (const char* save : {"once", "again"}) ASSERT_EQ(Run(flags("bf16", save)).exit_code, 0);
  ASSERT_EQ(Run(flags("f32", "floats")).exit_code, 0);
  EXPECT_TRUE(BytesOf("once") == BytesOf("again"));
  EXPECT_FALSE(BytesOf("once") == BytesOf("floats"));

  ASSERT_EQ(Run({"--steps=3", "--backward=bf16", "--checkpoint_dir=run", "--report=run.textproto"})
                .exit_code,
            0);
  EXPECT_THAT(folder_.Read("run.textproto"),
              HasSubstr("  name: \"backward pass\"\n  value: \"bf16\"\n"));
  const BinaryRun other = Run({"--steps=8", "--checkpoint_dir=run", "--resume"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_EQ(other.err,
            "train: run/step-3: belongs to a run with a backward pass in bf16, and this one has "
            "f32; want the same\n");
  const BinaryRun resumed =
      Run({"--steps=8", "--backward=bf16", "--checkpoint_dir=run", "--resume", "--save=resumed"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(BytesOf("resumed") == BytesOf("once"));
}

TEST_F(Train, ComputesTheSameInLessMemory) {
  ASSERT_EQ(Run({"--steps=8", "--save=held"}).exit_code, 0);
  ASSERT_EQ(Run({"--steps=8", "--recompute=20", "--save=computed_again"}).exit_code, 0);
  EXPECT_TRUE(BytesOf("held") == BytesOf("computed_again"));
  const BinaryRun refused = Run({"--steps=8", "--recompute=-1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--recompute"));
}

TEST_F(Train, RefusesABackwardPassThatTheProcessorLacks) {
  setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", /*overwrite=*/1);
  const BinaryRun run = Run({"--steps=1", "--backward=bf16"});
  unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.err,
            "train: --backward=bf16: products in bf16 need AVX512_BF16, which this processor lacks "
            "or ONEDNN_MAX_CPU_ISA leaves out; want f32\n");
}

TEST_F(Train, BeginsWithParametersThatAreGiven) {
  ASSERT_EQ(Run({"--steps=50", "--save=trained"}).exit_code, 0);
  ASSERT_EQ(Run({"--steps=1", "--metrics=fresh.jsonl"}).exit_code, 0);
  std::filesystem::remove(folder_.Path("trained/fc_0.w_0_velocity_0"));
  const BinaryRun run = Run({"--steps=1", "--params=trained", "--metrics=run.jsonl"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto first_loss = [&](const std::string& metrics) {
    const std::string line = folder_.Read(metrics);
    return std::atof(line.substr(line.find("loss") + 7).c_str());
  };
  EXPECT_LT(first_loss("run.jsonl"), first_loss("fresh.jsonl") / 2);
  EXPECT_EQ(run.err,
            "took 8 of 9 parameters from trained; from the startup program: "
            "fc_0.w_0_velocity_0\n");
}

TEST_F(Train, TellsWhichFilesOfParametersAreNotUsed) {
  ASSERT_EQ(Run({"--steps=1", "--save=trained"}).exit_code, 0);
  EXPECT_EQ(Run({"--steps=1", "--params=trained"}).err, "");
  folder_.Write("one/fc_0.w_0", folder_.Read("trained/fc_0.w_0"));
  folder_.Write("one/conv2d_0.w_0", "");
  const BinaryRun run = Run({"--steps=1", "--params=one"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err,
            "took 1 of 9 parameters from one; from the startup program: fc_0.b_0, "
            "fc_0.b_0_velocity_0, fc_0.w_0_velocity_0 and 5 more; not used: conv2d_0.w_0\n");
}

TEST_F(Train, TellsARateThatIsThatOfTheLastStepOfASchedule) {
  ASSERT_EQ(Run({"--steps=3", "--learning_rate=cosine:0.25", "--save=trained"}).exit_code, 0);
  EXPECT_EQ(Run({"--steps=1", "--params=trained"}).err,
            "the learning rate is 0.0625, as trained has it, and not 0.1, as the startup program "
            "does; --learning_rate=RATE sets it\n");
  EXPECT_EQ(Run({"--steps=1", "--params=trained", "--learning_rate=0.1"}).err, "");
}

TEST_F(Train, ParametersWithoutAnyThatIsTrainedAreNotThoseOfTheProgram) {
  ASSERT_EQ(Run({"--steps=1", "--save=trained"}).exit_code, 0);
  folder_.Write("rate/learning_rate_0", folder_.Read("trained/learning_rate_0"));
  const BinaryRun run = Run({"--steps=1", "--params=rate"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err,
            "train: rate: has none of the parameters that are trained: fc_0.b_0, fc_0.w_0, "
            "fc_1.b_0 and 1 more\n");
}

TEST_F(Train, BeginsWithParametersOfACombinedFile) {
  RunBinaryOptions here;
  here.callers_directory = folder_.Path();
  ASSERT_EQ(Run({"--steps=5", "--save=trained"}).exit_code, 0);
  // A combined file is the separate ones after each other, by name.
  std::string combined;
  for (const std::string& file : folder_.Files()) {
    if (absl::StartsWith(file, "trained/")) combined += folder_.Read(file);
  }
  folder_.Write("trained.params", combined);
  ASSERT_EQ(Run({"--steps=3", "--params=trained", "--save=of_folder"}).exit_code, 0);
  const BinaryRun run = Run({"--steps=3", "--params=trained.params", "--save=of_file"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(BytesOf("of_folder") == BytesOf("of_file"));

  folder_.Write("short.params", folder_.Read("trained/fc_0.b_0"));
  const BinaryRun short_run = Run({"--steps=3", "--params=short.params"});
  EXPECT_EQ(short_run.exit_code, 3);
  EXPECT_THAT(short_run.err, HasSubstr("short.params: "));
  EXPECT_THAT(short_run.err, HasSubstr("was it written for another program, or for this one "
                                       "before it was quantized?"));
}

// Ranges of weights are found anew in each run: what is saved are those of the last step, whatever
// is evaluated after it.
TEST_F(Train, AnEvaluationLeavesNoTraceInWhatIsSaved) {
  RunBinaryOptions here;
  here.callers_directory = folder_.Path();
  const auto transpile = [&](const std::vector<std::string>& arguments) {
    return RunBinary("tools/transpile", arguments, here).exit_code;
  };
  ASSERT_EQ(transpile({"--output=q.txt", "--startup=mlp.startup.txt",
                       "--startup_output=q.startup.txt", "mlp.txt"}),
            0);
  ASSERT_EQ(transpile({"--mode=test", "--output=float.txt", "mlp.txt"}), 0);
  const auto train = [&](const std::string& save, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"q.txt", "--startup=q.startup.txt", "--data=digits:100",
                                          "--batch_size=20", "--save=" + save};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const BinaryRun run = RunBinary("tools/train", arguments, here);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return BytesOf(save);
  };
  // A float program has no ranges to write.
  const std::string idle = train("idle", {"--steps=7", "--eval_program=float.txt"});
  EXPECT_THAT(idle, HasSubstr("fc_0.w_0@scale"));
  EXPECT_TRUE(train("evaluated", {"--steps=7", "--eval_every=2"}) == idle);
  // An interrupted run is evaluated where it ends.
  train("begun", {"--steps=3", "--checkpoint_dir=run"});
  EXPECT_TRUE(train("resumed", {"--steps=7", "--checkpoint_dir=run", "--resume"}) == idle);
}

TEST_F(Train, ARunThatIsDoneIsResumedToWriteItsParameters) {
  ASSERT_EQ(Run({"--steps=3", "--checkpoint_dir=run", "--save=first"}).exit_code, 0);
  const BinaryRun run = Run({"--steps=3", "--checkpoint_dir=run", "--resume", "--save=second"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "resuming from run/step-3\nall 3 steps are done; --steps or --epochs asks for more\n"
            "wrote second\n");
  EXPECT_TRUE(BytesOf("first") == BytesOf("second"));
}

// The loss stays finite: nothing that it is computed of reads them.
TEST_F(Train, ValuesThatAreNotFiniteAreLookedFor) {
  const std::string program =
      absl::StrReplaceAll(ReadFileOrDie("examples/data/mlp.train.txt"),
                          {{"block 0 {\n", "block 0 {\n  var logs.scale f32[1] persistable\n"}});
  folder_.Write("mlp.txt", absl::StrCat(program.substr(0, program.rfind('}')), R"(
  log(X=image) -> (Out=logs)
  fake_quantize_abs_max(X=logs) -> (Out=codes, OutScale=logs.scale) {bit_length=8}
})"));
  EXPECT_EQ(Run({"--steps=1"}).exit_code, 0);
  const BinaryRun run = Run({"--steps=1", "--check_finite"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("mlp.txt: step 1: block 0, op "));
  EXPECT_THAT(run.err, HasSubstr("(log): element 0 of \"logs\" is -inf; want finite numbers"));
}

TEST_F(Train, HelpHasEveryGroupOfFlags) {
  const BinaryRun run = RunBinary("tools/train", {"--help"});
  EXPECT_EQ(run.exit_code, 0);
  std::vector<std::string> titles;
  for (absl::string_view line : absl::StrSplit(run.out, '\n')) {
    if (absl::EndsWith(line, ":")) titles.emplace_back(line);
  }
  EXPECT_THAT(titles, ElementsAre("Programs and data:", "How to train:", "What to write:",
                                  "Checkpoints:", "Examples:"));
}

}  // namespace
}  // namespace fixpoint
