// Schedules: what begins at a step, as ops and in networks that are trained across it.

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "tests/runtime/reference/digits_training.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(ScheduleOps, SelectWhatAStepIsToRead) {
  const std::string op = "select_from_step(X=a, Before=b, Step=step) -> (Out=y) {from_step=3L}";
  const std::string inputs = "a f32[2] 1 nan\nb f32[2] 3 4\nstep i64[1] ";
  EXPECT_EQ(RunOps(op, inputs + "2\n"), "y f32[2] 3 4\n");
  EXPECT_EQ(RunOps(op, inputs + "3\n"), "y f32[2] 1 nan\n");
  EXPECT_EQ(RunOps(op, inputs + "4\n"), "y f32[2] 1 nan\n");
}

TEST(ScheduleOps, SelectZerosWhereNothingIsGiven) {
  const std::string from = "select_from_step(X=a, Step=step) -> (Out=y) {from_step=3L}";
  EXPECT_EQ(RunOps(from, "a f32[2] 1 2\nstep i64[1] 2\n"), "y f32[2] 0 0\n");
  EXPECT_EQ(RunOps(from, "a f32[2] 1 2\nstep i64[1] 3\n"), "y f32[2] 1 2\n");
  const std::string until = "select_from_step(Before=a, Step=step) -> (Out=y) {from_step=3L}";
  EXPECT_EQ(RunOps(until, "a f32[2] 1 2\nstep i64[1] 3\n"), "y f32[2] 0 0\n");
}

TEST(ScheduleOps, TheGradientGoesWhereTheValueCameFrom) {
  const std::string op =
      "select_from_step_grad(Step=step, Out@GRAD=dy) -> (X@GRAD=da, Before@GRAD=db) "
      "{from_step=3L}";
  EXPECT_EQ(RunOps(op, "dy f32[2] 1 2\nstep i64[1] 2\n"), "da f32[2] 0 0\ndb f32[2] 1 2\n");
  EXPECT_EQ(RunOps(op, "dy f32[2] 1 2\nstep i64[1] 3\n"), "da f32[2] 1 2\ndb f32[2] 0 0\n");
}

TEST(ScheduleOps, RefuseWhatTheyCannotSelect) {
  EXPECT_EQ(RunOps("select_from_step(Step=step) -> (Out=y) {from_step=3L}", "step i64[1] 2\n"),
            "block 0, op 0 (select_from_step): inputs X and Before are absent; want one of them, "
            "or both");
  EXPECT_EQ(RunOps("relu(X=a) -> (Out=y) {test_from_step=3L}", "a f32[1] 1\n"),
            "block 0, op 0 (relu): attribute test_from_step wants an integer, and input Step with "
            "the number of the step");
}

// Where it follows a range, and from the third step on, where it reads it.
TEST(ScheduleOps, AQuantizerReadsItsRangeFromAStepOn) {
  const std::string op =
      "fake_quantize_moving_average_abs_max(X=x, InScale=s, InState=n, InAccum=a, Step=step) -> "
      "(Out=y, OutScale=s, OutState=n, OutAccum=a) {bit_length=4, test_from_step=3L}";
  const std::string inputs = "x f32[2] 1 4\ns f32[1] 2\nn f32[1] 0\na f32[1] 0\nstep i64[1] ";
  EXPECT_EQ(RunOps(op, inputs + "2\n"), "a f32[1] 4\nn f32[1] 1\ns f32[1] 4\ny f32[2] 2 7\n");
  EXPECT_EQ(RunOps(op, inputs + "3\n"), "a f32[1] 0\nn f32[1] 0\ns f32[1] 2\ny f32[2] 4 7\n");
}

TEST(ScheduleOps, BatchNormGoesByWhatItHasFromAStepOn) {
  const std::string op =
      "batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v, Step=step) -> (Y=y, MeanOut=m, "
      "VarianceOut=v, SavedMean=[], SavedVariance=[]) {epsilon=0.0, momentum=0.5, "
      "test_from_step=3L}";
  const std::string inputs =
      "x f32[2,1] 2 6\ng f32[1] 1\nb f32[1] 0\nm f32[1] 0\nv f32[1] 16\nstep i64[1] ";
  EXPECT_EQ(RunOps(op, inputs + "2\n"), "m f32[1] 2\nv f32[1] 10\ny f32[2,1] -1 1\n");
  EXPECT_EQ(RunOps(op, inputs + "3\n"), "m f32[1] 0\nv f32[1] 16\ny f32[2,1] 0.5 1.5\n");
}

struct Quantizers {
  const char* name;
  const char* weights;
  const char* activations;
  QuantSpec::Form form;
};

void PrintTo(const Quantizers& quantizers, std::ostream* out) { *out << quantizers.name; }

// Learned ranges, and ranges that are followed by the reference's ops.
class Schedules : public testing::TestWithParam<Quantizers> {
 protected:
  Schedules() {
    config_.set_target("onednn_int8");
    config_.mutable_weights()->set_quantizer(GetParam().weights);
    config_.mutable_activations()->set_quantizer(GetParam().activations);
    for (QuantSpec* spec : {config_.mutable_weights(), config_.mutable_activations()}) {
      spec->set_form(GetParam().form);
      spec->set_bits(4);
    }
    options_.batch_norm = true;
  }

  Schedule& schedule() { return *config_.mutable_schedule(); }

  static std::map<std::string, std::vector<double>> ValuesOf(const DigitsTraining& training,
                                                             const std::string& suffix) {
    std::map<std::string, std::vector<double>> values;
    for (const std::string& name : training.NamesWith(suffix)) {
      values[name] = training.Values(name);
    }
    return values;
  }
  // The ranges of activations and, if they are learned, of weights.
  std::map<std::string, std::vector<double>> KeptRanges(const DigitsTraining& training) const {
    auto ranges = ValuesOf(training, "tmp_0@scale");
    if (absl::string_view(GetParam().weights) == "lsq") {
      ranges.merge(ValuesOf(training, "w_0@scale"));
    }
    return ranges;
  }

  QuantConfig config_;
  DigitsOptions options_;
};

TEST_P(Schedules, UntilItQuantizesANetworkTrainsAsTheFloatOne) {
  schedule().set_quantize_from_step(6);
  DigitsTraining scheduled(config_, options_);
  QuantConfig none;
  QuantRule& rule = *none.add_rules();
  rule.set_name_pattern("*");
  rule.set_skip(true);
  DigitsTraining plain(none, options_);
  EXPECT_EQ(scheduled.Train(5), plain.Train(5));
  EXPECT_EQ(ValuesOf(scheduled, ".w_0"), ValuesOf(plain, ".w_0"));
  EXPECT_NE(scheduled.Train(1), plain.Train(1));
}

TEST_P(Schedules, ScalesAreFrozenFromAStepOn) {
  schedule().set_freeze_scales_from_step(5);
  DigitsTraining training(config_, options_);
  training.Train(1);
  const auto first = KeptRanges(training);
  ASSERT_GE(first.size(), 2);
  training.Train(3);
  const auto fourth = KeptRanges(training);
  EXPECT_NE(first, fourth);
  const auto weights = ValuesOf(training, ".w_0");
  training.Train(3);
  EXPECT_EQ(KeptRanges(training), fourth);
  EXPECT_NE(ValuesOf(training, ".w_0"), weights);
}

// Then a step computes what the test program computes.
TEST_P(Schedules, WhatIsFrozenTrainsAsItIsTested) {
  schedule().set_freeze_scales_from_step(4);
  schedule().set_freeze_batch_norm_from_step(5);
  DigitsTraining training(config_, options_);
  training.Train(3);
  const double before = training.TestLoss();
  EXPECT_NE(training.Train(1)[0], before) << "batch norm is not frozen yet";
  const auto mean = ValuesOf(training, ".w_1");
  const auto variance = ValuesOf(training, ".w_2");
  ASSERT_EQ(mean.size(), 1);
  for (int step = 0; step < 3; ++step) {
    const double tested = training.TestLoss();
    EXPECT_EQ(training.Train(1)[0], tested);
  }
  EXPECT_EQ(ValuesOf(training, ".w_1"), mean);
  EXPECT_EQ(ValuesOf(training, ".w_2"), variance);
}

// The step is state of the program: a run can be resumed before, at and after each of these steps.
TEST_P(Schedules, AResumedRunIsTheUninterruptedOne) {
  schedule().set_quantize_from_step(3);
  schedule().set_freeze_scales_from_step(5);
  schedule().set_freeze_batch_norm_from_step(6);
  DigitsTraining uninterrupted(config_, options_);
  const std::vector<double> losses = uninterrupted.Train(8);
  for (int stop = 1; stop < 8; ++stop) {
    DigitsTraining first(config_, options_);
    std::vector<double> stopped = first.Train(stop);
    DigitsTraining second = first.Resumed();
    for (const double loss : second.Train(8 - stop)) stopped.push_back(loss);
    EXPECT_EQ(stopped, losses) << "stopped after step " << stop;
    EXPECT_EQ(second.State(), uninterrupted.State()) << "stopped after step " << stop;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ranges, Schedules,
    testing::Values(Quantizers{"Learned", "lsq", "lsq", QuantSpec::FUSED},
                    Quantizers{"Followed", "channel_wise_abs_max", "moving_average_abs_max",
                               QuantSpec::SEPARATE},
                    Quantizers{"OfAWindow", "abs_max", "range_abs_max", QuantSpec::SEPARATE}),
    [](const testing::TestParamInfo<Quantizers>& info) { return info.param.name; });

// Whatever its update reads: neither of these ranges needs a learning rate to move.
TEST(ScheduledTexts, StatesAreFrozenThatNoLearningRateMoves) {
  auto read = ReadQuantizers(R"(quantizer followed "A moving average of the largest magnitude."
states:
  number() -> (Out=range) {initial=1.0}
  number() -> (Out=steps) {initial=1.0}
forward:
  elementwise_div(X=range, Y=steps) -> (Out=share)
  fake_quantize_dequantize_at_range(X=x, InScale=share) -> (Out=out)
update:
  abs(X=x) -> (Out=size)
  reduce_max(X=size) -> (Out=most)
  scale(X=range) -> (Out=old) {scale=0.9}
  scale(X=most) -> (Out=new) {scale=0.1}
  elementwise_add(X=old, Y=new) -> (Out=range)
  scale(X=steps) -> (Out=steps) {bias=0.01}
)",
                             "q.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  QuantizerTable quantizers;
  for (auto& quantizer : *read) ASSERT_TRUE(quantizers.Add(std::move(quantizer)).ok());
  QuantConfig config;
  config.set_target("onednn_int8");
  for (QuantSpec* spec : {config.mutable_weights(), config.mutable_activations()}) {
    spec->set_quantizer("followed");
    spec->set_form(QuantSpec::FUSED);
    spec->set_granularity(QuantSpec::PER_TENSOR);
  }
  config.mutable_schedule()->set_freeze_scales_from_step(4);
  DigitsOptions options;
  options.quantizers = &quantizers;
  DigitsTraining training(config, options);
  const auto states = [&training] {
    std::vector<std::vector<double>> values;
    for (const char* suffix : {"@scale", "@range", "@steps"}) {
      for (const std::string& name : training.NamesWith(suffix)) {
        values.push_back(training.Values(name));
      }
    }
    return values;
  };
  training.Train(2);
  const auto second = states();
  ASSERT_GE(second.size(), 8);
  training.Train(1);
  const auto third = states();
  for (size_t i = 0; i < third.size(); ++i) EXPECT_NE(third[i], second[i]) << i;
  training.Train(2);
  EXPECT_EQ(states(), third);
}

// The range of a learned quantizer is that of the first step that uses it.
TEST(LearnedSchedules, RangesBeginWithQuantization) {
  QuantConfig config;
  config.set_target("onednn_int8");
  for (QuantSpec* spec : {config.mutable_weights(), config.mutable_activations()}) {
    spec->set_quantizer("lsq");
    spec->set_form(QuantSpec::FUSED);
  }
  config.mutable_schedule()->set_quantize_from_step(3);
  DigitsTraining training(config);
  const std::string image = training.NamesWith("@scale").at(2);
  training.Train(1);
  const std::vector<double> first = training.Values(image);
  training.Train(1);
  EXPECT_NE(training.Values(image), first) << "each step finds it anew";
  for (const std::string& velocity : training.NamesWith("@velocity")) {
    EXPECT_EQ(training.Values(velocity), std::vector<double>({0})) << "nothing trains it";
  }
  training.Train(1);
  for (const std::string& velocity : training.NamesWith("@velocity")) {
    EXPECT_NE(training.Values(velocity), std::vector<double>({0}));
  }
}

}  // namespace
}  // namespace fixpoint::reference
