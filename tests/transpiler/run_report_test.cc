#include "transpiler/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ops/quantizer_table.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/statistics/bit_histogram.h"
#include "runtime/statistics/range_profile.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/advice.h"
#include "transpiler/report/layers.h"
#include "transpiler/report/report_file.h"
#include "transpiler/report/report_values.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTwoProducts[] = R"(
  var x f32[-1,2]
  var w f32[2,2] persistable
  var y f32[-1,2]
  var r f32[-1,2]
  var v f32[2,2] persistable
  var z f32[-1,2]
  var m f32[1]
  mul(X=x, Y=w) -> (Out=y)
  relu(X=y) -> (Out=r)
  mul(X=r, Y=v) -> (Out=z)
  mean(X=z) -> (Out=m)
)";

RunReport Parsed(const std::string& text) {
  RunReport report;
  const absl::Status status = ParseTextMessage(text, "report", &report);
  EXPECT_TRUE(status.ok()) << status;
  return report;
}

Tensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Tensor::FromValues<float>(std::move(dims), values);
}

RangeProfile ProfileOf(const std::string& variable, const std::vector<float>& values) {
  ValueStatistics statistics;
  statistics.AddSample(statistics.histogram.Add(values));
  RangeProfile profile;
  *profile.add_entries() = EntryOf(variable, statistics);
  return profile;
}

const RunReport::Value& ValueOf(const RunReport& report, const std::string& variable) {
  for (const RunReport::Value& value : report.values()) {
    if (value.variable() == variable) return value;
  }
  ADD_FAILURE() << "no value " << variable;
  return RunReport::Value::default_instance();
}

std::vector<std::string> CodesOf(const std::vector<Advice>& advice) {
  std::vector<std::string> codes;
  for (const Advice& one : advice) codes.push_back(one.code);
  return codes;
}

// The advice for one op that reads one value.
std::vector<std::string> AdviceOn(const std::string& value, const std::string& op = "") {
  const RunReport report = Parsed("values {" + value + "} ops { values: 0 " + op + "}");
  return CodesOf(AdviceFor(report, report.ops(0)));
}

TEST(RunReport, OpsReadOpsWhateverQuantizersLieBetween) {
  const Program program = ParsedProgram(kTwoProducts);
  RunReport given;
  AddOps(program, &given);
  ASSERT_EQ(given.ops_size(), 4);
  EXPECT_EQ(given.ops(2).type(), "mul");
  EXPECT_EQ(given.ops(2).output(), "z");
  EXPECT_THAT(given.ops(2).shape(), ElementsAre(-1, 2));
  EXPECT_THAT(given.ops(0).reads(), IsEmpty());
  EXPECT_THAT(given.ops(2).reads(), ElementsAre(1));

  Program quantized = ParsedProgram(kTwoProducts);
  ASSERT_TRUE(Transpile(&quantized).ok());
  RunReport report;
  AddOps(quantized, &report);
  ASSERT_EQ(report.ops_size(), 4);
  EXPECT_THAT(report.ops(2).reads(), ElementsAre(1));
}

TEST(RunReport, HasAPlanWithWhatItsRangesLose) {
  const Program given = ParsedProgram(kTwoProducts);
  RangeProfile profile = ProfileOf("x", {-1, 0.5f, 2});
  profile.MergeFrom(ProfileOf("r", {0, 1, 4}));
  Scope parameters;
  parameters.Set("w", Floats({2, 2}, {1, 0, 0.25f, 0}));
  parameters.Set("v", Floats({2, 2}, {1, -2, 3, 4}));

  Program quantized = ParsedProgram(kTwoProducts);
  TranspileOptions options;
  options.profile = &profile;
  const auto transpiled = Transpile(&quantized, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();

  RunReport report;
  AddOps(given, &report);
  AddPlan(transpiled->plan, given, &report);
  ASSERT_TRUE(AddProfile(profile, &report).ok());
  AddWeights(parameters, &report);
  EXPECT_TRUE(CheckRunReport(report).ok());

  EXPECT_EQ(report.target(), kDefaultTarget);
  EXPECT_TRUE(report.ops(0).quantized());
  EXPECT_EQ(report.ops(0).reason(), "by_target");
  EXPECT_EQ(report.ops(0).values_size(), 2);
  EXPECT_FALSE(report.ops(1).has_quantized());
  const RunReport::Value& x = ValueOf(report, "x");
  EXPECT_EQ(x.min(), -1);
  EXPECT_EQ(x.max(), 2);
  EXPECT_EQ(x.low(), -2);
  EXPECT_EQ(x.high(), 2);
  EXPECT_EQ(x.clipped(), 0);
  EXPECT_GT(x.signal_to_noise(), 40);
  EXPECT_FALSE(x.never_negative());
  EXPECT_TRUE(ValueOf(report, "r").never_negative()) << "after a relu";
  const RunReport::Value& w = ValueOf(report, "w");
  EXPECT_EQ(w.high(), 1);
  EXPECT_EQ(w.max(), 1);
  // 1 is a code, and 0.25 lies between 31 / 127 and 32 / 127.
  const double error = 0.25 - 32.0 / 127;
  EXPECT_NEAR(w.signal_to_noise(), 10 * std::log10(1.0625 / (error * error)), 1e-3);
}

TEST(RunReport, SaysWhatLoweringDid) {
  const Program portable = ParsedProgram(R"(
    var feed feed_minibatch persistable
    var fetch fetch_list persistable
    var zero i32[1] persistable
    var s f32[1] persistable
    var w.int8 i8[2,2] persistable
    var w f32[2,2]
    var q i8[-1,2]
    var x f32[-1,2]
    var y f32[-1,2]
    var r f32[-1,2]
    var r.q f32[-1,2]
    var d f32[-1,2]
    var z f32[-1,2]
    feed(X=feed) -> (Out=q) {col=0}
    dequantize_linear(Scale=s, X=q, ZeroPoint=zero) -> (Y=x) {bit_length=8, quant_axis=-1, round_type=0}
    dequantize_linear(Scale=s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
    mul(X=x, Y=w) -> (Out=y)
    relu6(X=y) -> (Out=r)
    quantize_linear(Scale=s, X=r, ZeroPoint=zero) -> (Y=r.q) {bit_length=8, quant_axis=-1, round_type=0}
    dequantize_linear(Scale=s, X=r.q, ZeroPoint=zero) -> (Y=d) {bit_length=8, quant_axis=-1, round_type=0}
    softmax(X=d) -> (Out=z)
    fetch(X=z) -> (Out=fetch) {col=0}
  )");
  const auto parameters =
      ParseParameters("zero i32[1] 0\ns f32[1] 127\nw.int8 i8[2,2] 1 2 3 4\n", "parameters");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const auto lowered = Lower(portable, *parameters);
  ASSERT_TRUE(lowered.ok()) << lowered.status();

  RunReport of_lowered;
  AddOps(lowered->program, &of_lowered);
  ASSERT_GE(of_lowered.ops_size(), 1);
  EXPECT_EQ(of_lowered.ops(0).type(), "integer_mul");
  EXPECT_EQ(StateOf(of_lowered.ops(0)), OpState::kIntegers);

  RunReport report;
  AddOps(portable, &report);
  AddLowering(lowered->ops, &report);
  ASSERT_EQ(report.ops_size(), 3);
  EXPECT_THAT(report.ops(2).reads(), ElementsAre(1));
  EXPECT_EQ(report.ops(0).lowered(), "on_integers");
  EXPECT_EQ(report.ops(1).lowered(), "in_epilogue");
  EXPECT_EQ(StateOf(report.ops(1)), OpState::kIntegers);
  EXPECT_EQ(StateOf(report.ops(2)), OpState::kFloat);
  EXPECT_THAT(WhyLowered(report.ops(0)).meaning, HasSubstr("its inputs are codes"));
}

TEST(RunReport, HasTheRangesThatTrainingStored) {
  const Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var s f32[1] persistable
    var e f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    fake_quantize_dequantize_moving_average_abs_max(InScale=s, X=x) -> (Out=e, OutScale=s) {is_test=true, bit_length=8}
    mul(X=e, Y=w) -> (Out=y)
  )");
  Scope trained;
  trained.Set("s", Floats({1}, {3}));
  RunReport report;
  AddOps(program, &report);
  const absl::Status status = AddQuantizers(program, trained, QuantizerTable(), &report);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(report.values_size(), 1);
  EXPECT_EQ(report.values(0).variable(), "x");
  EXPECT_EQ(report.values(0).high(), 3);
  EXPECT_EQ(report.values(0).spec().bits(), 8);
  EXPECT_TRUE(report.ops(0).quantized());
  EXPECT_THAT(report.ops(0).values(), ElementsAre(0));
}

TEST(RunReport, SpreadOfChannelsLeavesDeadOnesOut) {
  RunReport report = Parsed(R"(values { variable: 'w' role: WEIGHT spec {
      bits: 8 scheme: SYMMETRIC signedness: SIGNED granularity: PER_CHANNEL axis: 1
      rounding: HALF_TO_EVEN } })");
  Scope parameters;
  parameters.Set("w", Floats({2, 3}, {8, 0, -0.5f, 4, 0, 0.25f}));
  AddWeights(parameters, &report);
  const RunReport::Value& w = report.values(0);
  EXPECT_EQ(w.channels(), 3);
  EXPECT_EQ(w.dead_channels(), 1);
  EXPECT_EQ(w.channel_spread(), 16);
  EXPECT_EQ(w.low(), -8);
  // Per channel, 4 of 8 is what 0.25 of 0.5 is: 63.5 codes.
  const double error = 0.5 / 127;
  const double noise = error * error * (64 + 0.25);
  EXPECT_NEAR(w.signal_to_noise(), 10 * std::log10((64 + 16 + 0.25 + 0.0625) / noise), 1e-3);
}

TEST(RunReport, CoarseHistogramCountsEveryValueOnce) {
  BitHistogram values;
  std::vector<float> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(static_cast<float>(i * i % 997) - 400);
  values.Add(numbers);
  const RunReport::Histogram histogram = CoarseHistogram(values);
  EXPECT_EQ(std::accumulate(histogram.counts().begin(), histogram.counts().end(), int64_t{0}),
            1000);
  EXPECT_EQ(histogram.edges(0), values.min());
  EXPECT_EQ(histogram.edges(histogram.edges_size() - 1), values.max());

  BitHistogram constant;
  constant.Add({2, 2, 2});
  EXPECT_THAT(CoarseHistogram(constant).counts(), ElementsAre(3));
  EXPECT_EQ(CoarseHistogram(BitHistogram()).edges_size(), 0);
}

TEST(RunReport, ThatDoesNotFitItselfIsRefused) {
  const auto message = [](const std::string& text) {
    return std::string(CheckRunReport(Parsed(text)).message());
  };
  EXPECT_EQ(message("ops { reads: 0 }"), "ops[0]: reads op 0; want one before it");
  EXPECT_EQ(message("ops { values: 1 } values {}"), "ops[0]: value 1; the report has 1");
  EXPECT_THAT(message("values { histogram { edges: 1 counts: 1 } }"), HasSubstr("one edge more"));
  EXPECT_THAT(message("values { histogram { edges: [2, 1] counts: 1 } }"), HasSubstr("ascend"));
  EXPECT_THAT(message("values { histogram { edges: [1, nan] counts: 1 } }"), HasSubstr("finite"));
  EXPECT_THAT(message("values { histogram { edges: [1, 2] counts: -1 } }"), HasSubstr("negative"));
  EXPECT_THAT(message("curves { steps: 1 }"), HasSubstr("curves[0]: 1 steps and 0 values"));
  EXPECT_THAT(message("curves { steps: [2, 1] values: [1, 1] }"), HasSubstr("ascend"));
}

TEST(Layers, WorstComeFirst) {
  const RunReport report = Parsed(R"(
    ops { quantized: true }
    ops { quantized: true signal_to_noise: 30 }
    ops { quantized: true signal_to_noise: 20 }
    ops { quantized: true signal_to_noise: nan }
    ops { quantized: true sensitivity: 0.5 signal_to_noise: 40 }
    ops {})");
  EXPECT_THAT(LayersWorstFirst(report), ElementsAre(4, 2, 1, 0, 3));
}

constexpr char kEightBits[] =
    "variable: 'v' spec { bits: 8 scheme: SYMMETRIC signedness: SIGNED } ";

TEST(Advice, IsGivenWhereItsConditionHolds) {
  const std::string value = kEightBits;
  EXPECT_THAT(AdviceOn(value + "signal_to_noise: 45 min: -1 max: 1 low: -1 high: 1"), IsEmpty());
  const std::string activation = value + "role: ACTIVATION ";
  EXPECT_THAT(AdviceOn(activation + "clipped: 0.01"), ElementsAre("clipped"));
  EXPECT_THAT(AdviceOn(activation + "clipped: 0.0001"), IsEmpty());
  EXPECT_THAT(AdviceOn(value + "role: WEIGHT clipped: 0.01"), IsEmpty());
  const std::string outliers =
      "min: -1 max: 1 low: -1 high: 1 "
      "histogram { edges: [-1, -0.1, 0.1, 1] counts: [0, 99999, 1] } ";
  EXPECT_THAT(AdviceOn(value + outliers + "signal_to_noise: 12"), ElementsAre("outliers"));
  EXPECT_THAT(AdviceOn(value + outliers + "signal_to_noise: 40"), IsEmpty());
  EXPECT_THAT(AdviceOn(value + "role: WEIGHT channel_spread: 9"), ElementsAre("spread_channels"));
  EXPECT_THAT(AdviceOn(value + "role: WEIGHT channel_spread: 7"), IsEmpty());
  EXPECT_THAT(AdviceOn(value + "min: -1 max: 5 signal_to_noise: 20"), ElementsAre("one_sided"));
  EXPECT_THAT(AdviceOn(value + "never_negative: true min: 0 max: 5 signal_to_noise: 20"),
              ElementsAre("never_negative"));
  EXPECT_THAT(AdviceOn(value + "min: 0 max: 5 signal_to_noise: 20"), IsEmpty())
      << "of an input that was never negative, which others may be";
  EXPECT_THAT(AdviceOn("spec { bits: 4 } signal_to_noise: 20"), ElementsAre("few_bits"));
  EXPECT_THAT(AdviceOn(value + "min: 3 max: 3"), ElementsAre("constant"));
  EXPECT_THAT(AdviceOn(value + "dead_channels: 2 channels: 8"), ElementsAre("dead_channels"));
  EXPECT_THAT(AdviceOn(value + "observed_only: true clipped: 0.5"), IsEmpty());
}

TEST(Advice, FollowsFromWhatAnOpIs) {
  EXPECT_THAT(AdviceOn("", "quantized: false reason: 'skipped_by_rule'"),
              ElementsAre("skipped_by_rule"));
  EXPECT_THAT(AdviceOn("", "quantized: false reason: 'tensor_array'"), IsEmpty());
  EXPECT_THAT(AdviceOn("signal_to_noise: 45", "quantized: true signal_to_noise: 10"),
              ElementsAre("from_before"));
  EXPECT_THAT(AdviceOn("", "lowered: 'not_quantized'"), ElementsAre("not_in_training"));
  const RunReport report = Parsed(R"(
    ops { quantized: true sensitivity: 0.05 }
    ops { quantized: true sensitivity: 0.01 })");
  EXPECT_THAT(CodesOf(AdviceFor(report, report.ops(0))), ElementsAre("costly"));
  EXPECT_THAT(CodesOf(AdviceFor(report, report.ops(1))), IsEmpty());
}

}  // namespace
}  // namespace fixpoint
