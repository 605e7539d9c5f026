// How long train trains, at which rate, and which parameters it leaves: schedules, the best
// evaluation, and interruptions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/tools/train_fixture.h"

namespace fixpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST_F(Train, ARateThatIsFedFollowsItsSchedule) {
  const BinaryRun run = Run({"--steps=4", "--metrics=m.jsonl", "--learning_rate=cosine:0.2"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string metrics = folder_.Read("m.jsonl");
  EXPECT_THAT(metrics, HasSubstr("\"learning_rate\": 0.2,"));
  EXPECT_THAT(metrics, HasSubstr("\"learning_rate\": 0.170710678,"));
  EXPECT_THAT(metrics, HasSubstr("\"learning_rate\": 0.1,"));
  EXPECT_THAT(metrics, HasSubstr("\"learning_rate\": 0.0292893219,"));
}

TEST_F(Train, ARateOfZeroTrainsNothing) {
  ASSERT_EQ(Run({"--steps=1", "--learning_rate=0", "--save=one"}).exit_code, 0);
  ASSERT_EQ(Run({"--steps=5", "--learning_rate=0", "--save=five"}).exit_code, 0);
  EXPECT_EQ(folder_.Read("one/fc_0.w_0"), folder_.Read("five/fc_0.w_0"));
  ASSERT_EQ(Run({"--steps=5", "--save=trained"}).exit_code, 0);
  EXPECT_NE(folder_.Read("one/fc_0.w_0"), folder_.Read("trained/fc_0.w_0"));
}

// The batch norm only watches, so that parameters do not depend on its statistics.
TEST_F(Train, StatisticsOfBatchNormAreEstimatedAfterTheLastStep) {
  folder_.Write("mlp.txt",
                absl::StrReplaceAll(folder_.Read("mlp.txt"),
                                    {{"  var relu_0.tmp_0 f32[-1,16]\n",
                                      "  var relu_0.tmp_0 f32[-1,16]\n"
                                      "  var norm f32[-1,16]\n  var saved_mean f32[16]\n"
                                      "  var saved_variance f32[16]\n"
                                      "  var mean f32[16] persistable\n"
                                      "  var variance f32[16] persistable\n"
                                      "  var one f32[16] persistable\n"
                                      "  var zero f32[16] persistable\n"},
                                     {"  relu(X=fc_0.tmp_1)",
                                      "  batch_norm(X=fc_0.tmp_1, Scale=one, Bias=zero, Mean=mean, "
                                      "Variance=variance) -> (Y=norm, MeanOut=mean, "
                                      "VarianceOut=variance, SavedMean=saved_mean, "
                                      "SavedVariance=saved_variance)\n  relu(X=fc_0.tmp_1)"}}));
  std::string startup = folder_.Read("mlp.startup.txt");
  std::string declared;
  for (const char* const name : {"mean", "variance", "one", "zero"}) {
    absl::StrAppend(&declared, "  var ", name, " f32[16] persistable\n");
    startup.insert(startup.rfind('}'), absl::StrCat("  fill_constant() -> (Out=", name,
                                                    ") {dtype=5, shape=[16L], value=",
                                                    name == std::string("zero") ? 0 : 1, ".0}\n"));
  }
  startup.insert(startup.find("  var "), declared);
  folder_.Write("mlp.startup.txt", startup);
  const BinaryRun kept = Run({"--steps=5", "--save=kept"});
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  const BinaryRun run = Run({"--steps=5", "--reestimate_batch_norm=2", "--save=estimated"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, MatchesRegex("step 5, epoch 1: test loss [0-9.]+, accuracy [0-9.]+ %\n"
                                    "statistics of 1 batch norm estimated from 2 batches\n"
                                    "step 5, epoch 1: test loss [0-9.]+, accuracy [0-9.]+ %\n"
                                    "wrote estimated\n"));
  EXPECT_EQ(folder_.Read("kept/fc_0.w_0"), folder_.Read("estimated/fc_0.w_0"));
  EXPECT_NE(folder_.Read("kept/mean"), folder_.Read("estimated/mean"));
  EXPECT_NE(folder_.Read("kept/variance"), folder_.Read("estimated/variance"));
}

TEST_F(Train, AResumedRunContinuesTheScheduleAndNoOther) {
  const auto run = [&](const std::string& rate, const std::string& steps,
                       std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--checkpoint_dir=run", "--resume", "--checkpoint_every=3",
                             "--learning_rate=" + rate, "--steps=" + steps});
    return Run(more);
  };
  const std::string rate = "piecewise:0.1,0.01@4,warmup=2";
  ASSERT_EQ(Run({"--steps=7", "--learning_rate=" + rate, "--save=whole"}).exit_code, 0);
  ASSERT_EQ(run(rate, "3").exit_code, 0);
  const BinaryRun other = run("0.1", "7");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_EQ(other.err,
            "train: run/step-3: belongs to a run with the learning rate piecewise:0.1,0.01@4,"
            "warmup=2, and this one has 0.1; want the same\n");
  ASSERT_EQ(run(rate, "7", {"--save=parts"}).exit_code, 0);
  EXPECT_TRUE(BytesOf("parts") == BytesOf("whole"));
}

TEST_F(Train, AScheduleThatEndsWithTheRunIsNotResumedForALongerOne) {
  const std::vector<std::string> flags = {"--checkpoint_dir=run", "--resume",
                                          "--learning_rate=linear:0.1"};
  std::vector<std::string> more = flags;
  more.push_back("--steps=3");
  ASSERT_EQ(Run(more).exit_code, 0);
  more.back() = "--steps=6";
  const BinaryRun run = Run(more);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("linear:0.1 over 3 steps, and this one has linear:0.1 over 6"));
}

TEST_F(Train, AScheduleIsRefusedWhereItCannotBeReadOrFed) {
  const BinaryRun unread = Run({"--learning_rate=cosinus:1"});
  EXPECT_EQ(unread.exit_code, 2);
  EXPECT_THAT(unread.err, HasSubstr("--learning_rate: \"cosinus:1\" is no learning rate; want "));
  folder_.Write("mlp.txt", absl::StrReplaceAll(
                               folder_.Read("mlp.txt"),
                               {{"LearningRate=learning_rate_0", "LearningRate=mean_0.tmp_0"}}));
  const BinaryRun unfed = Run({"--learning_rate=0.1"});
  EXPECT_EQ(unfed.exit_code, 2);
  EXPECT_THAT(unfed.err, AllOf(HasSubstr("--learning_rate: mlp.txt: block 0, op "),
                               HasSubstr("that the program computes itself")));
}

// A rate that is far too large makes every evaluation after the first worse than that.
TEST_F(Train, TheBestParametersAreKeptAndTheRunEndsWhenNoneAreBetter) {
  const std::vector<std::string> rate = {"--learning_rate=piecewise:0.01,1000@5"};
  std::vector<std::string> five = {"--steps=5", "--save=five"};
  five.insert(five.end(), rate.begin(), rate.end());
  ASSERT_EQ(Run(five).exit_code, 0);
  std::vector<std::string> best = {"--steps=50",       "--eval_every=5", "--save=best",
                                   "--keep_best=loss", "--stop_after=2", "--checkpoint_dir=run"};
  best.insert(best.end(), rate.begin(), rate.end());
  const BinaryRun run = Run(best);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              MatchesRegex("step 5, .*\nstep 10, .*\nstep 15, .*\n"
                           "ended after step 15: 2 evaluations were not better than that of "
                           "step 5\nwrote best: the parameters after step 5\n"));
  EXPECT_EQ(folder_.Read("best/fc_0.w_0"), folder_.Read("five/fc_0.w_0"));

  best.push_back("--resume");
  std::vector<std::string> elsewhere = best;
  elsewhere.push_back("--eval_data=digits:50");
  const BinaryRun other = Run(elsewhere);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("belongs to a run with other data to evaluate on, "));
  const BinaryRun again = Run(best);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("resuming from run/step-15\n"), Not(HasSubstr("test loss")),
                    HasSubstr("wrote best: the parameters after step 5\n")));
}

TEST_F(Train, WhatIsBetterHasToBeNamedAndMeasured) {
  const BinaryRun stop = Run({"--stop_after=2"});
  EXPECT_EQ(stop.exit_code, 2);
  EXPECT_THAT(stop.err, HasSubstr("--stop_after: what is better is not known; want --keep_best="));
  const BinaryRun unknown = Run({"--keep_best=mean_0", "--save=p"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err,
              HasSubstr("mlp.txt: the metric \"mean_0\" is no variable of the program"));
  const BinaryRun signed_loss = Run({"--keep_best=-loss", "--save=p"});
  EXPECT_EQ(signed_loss.exit_code, 3);
  EXPECT_THAT(signed_loss.err, HasSubstr("which way loss is better is known; want \"loss\""));
  const BinaryRun unsaved = Run({"--keep_best=loss"});
  EXPECT_EQ(unsaved.exit_code, 2);
  EXPECT_THAT(unsaved.err, HasSubstr("--keep_best needs a folder for the parameters: --save="));
}

TEST_F(Train, ANumberOfTheProgramIsMeasured) {
  const BinaryRun run = Run({"--steps=1", "--measure=mean_0.tmp_0", "--metrics=m.jsonl"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, MatchesRegex("step 1, epoch 0: test loss ([0-9.]+), accuracy [0-9.]+ %, "
                                    "mean_0.tmp_0 [0-9.]+\n"));
  EXPECT_THAT(folder_.Read("m.jsonl"),
              AllOf(HasSubstr("\"mean_0.tmp_0\": "), HasSubstr("\"test_mean_0.tmp_0\": ")));
  const BinaryRun many = Run({"--steps=1", "--measure=fc_1.tmp_1"});
  EXPECT_EQ(many.exit_code, 3);
  EXPECT_THAT(many.err, HasSubstr("the metric \"fc_1.tmp_1\" is FP32 [20, 10]; want one FP32 or "));
}

TEST_F(Train, AnInterruptedRunSavesWhatItHasAndCanBeContinued) {
  RunBinaryOptions options;
  options.signal = SIGINT;
  BinaryRun run;
  int64_t steps = 0;
  // A signal that comes before training has begun ends the process at once.
  for (options.kill_after = std::chrono::milliseconds(250); steps == 0; options.kill_after *= 2) {
    ASSERT_LT(options.kill_after, std::chrono::seconds(60)) << run.err;
    run = Run({"--steps=100000000", "--save=interrupted", "--checkpoint_dir=run", "--dump=image",
               "--dump_output=dump.npz"},
              options);
    EXPECT_EQ(run.exit_code, 128 + SIGINT);
    const size_t at = run.out.find("interrupted after step ");
    if (at != std::string::npos) steps = std::stoll(run.out.substr(at + 23));
  }
  EXPECT_THAT(run.out, HasSubstr("wrote interrupted\n"));
  EXPECT_THAT(folder_.Files(), Not(testing::Contains("dump.npz")));
  ASSERT_EQ(Run({absl::StrCat("--steps=", steps), "--save=whole"}).exit_code, 0);
  EXPECT_TRUE(BytesOf("interrupted") == BytesOf("whole"));
  EXPECT_THAT(folder_.Files(), testing::Contains(absl::StrCat("run/step-", steps, "/values.npz")));
}

}  // namespace
}  // namespace fixpoint
