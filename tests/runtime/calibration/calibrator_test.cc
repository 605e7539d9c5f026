#include "runtime/calibration/calibrator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/observation.h"
#include "runtime/executor/plan.h"
#include "runtime/statistics/range_profile.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

using executor::Executor;
using executor::ExecutorOptions;
using executor::Observation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Tensor RandomImage(std::vector<int64_t> dims, int64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::normal_distribution<float> normal(0, 1);
  dims[0] = 1;
  Tensor image = *Tensor::Allocate(VarType::FP32, dims);
  for (float& pixel : image.mutable_data<float>()) pixel = normal(random);
  return image;
}

// A network in test mode with the values of its startup program.
struct ReadyNetwork {
  explicit ReadyNetwork(const std::string& name) : network(BuildNetwork(name, /*batch=*/1)) {
    auto made = MakeTestProgram(network.main);
    EXPECT_TRUE(made.ok()) << made.status();
    test = *std::move(made);
    auto startup = Executor::Create(network.startup, &parameters);
    EXPECT_TRUE((*startup)->Run({}, {}, 0).ok());
    options.outputs = {network.scores};
    options.observed = FindObservedVariables(test, ObservedOutputs::kNone);
  }

  // Samples `begin` to `end`, whose images are kept here.
  std::vector<CalibrationSample> Samples(int64_t begin, int64_t end) {
    std::vector<CalibrationSample> samples;
    for (int64_t i = begin; i < end; ++i) {
      const auto [image, is_new] = images.try_emplace(i, nullptr);
      if (is_new) {
        image->second = std::make_unique<Tensor>(RandomImage(network.image_dims, i));
      }
      samples.push_back({i, {Feed{network.image, image->second.get()}}});
    }
    return samples;
  }

  Network network;
  Program test;
  Scope parameters;
  CalibrationOptions options;
  std::map<int64_t, std::unique_ptr<Tensor>> images;
};

std::string TextOf(const Calibrator& calibrator) {
  RangeProfile profile;
  for (RangeProfile::Entry& entry : calibrator.Entries()) {
    *profile.add_entries() = std::move(entry);
  }
  return PrintTextMessage(profile);
}

// The text of the statistics of samples 0 to `count` that run in groups of `group`.
std::string Calibrated(ReadyNetwork& network, int threads, int64_t group, int64_t count) {
  network.options.threads = threads;
  const auto calibrator = Calibrator::Create(network.test, &network.parameters, network.options);
  EXPECT_TRUE(calibrator.ok()) << calibrator.status();
  for (int64_t i = 0; i < count; i += group) {
    const absl::Status status = (*calibrator)->Run(network.Samples(i, std::min(i + group, count)));
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT((*calibrator)->NeverWritten(), ::testing::IsEmpty());
  return TextOf(**calibrator);
}

TEST(Calibrator, GivesTheSameForAnyThreadsAndGroups) {
  for (const char* name : {"small_separable", "encoder"}) {
    ReadyNetwork network(name);
    const std::string expected = Calibrated(network, 1, 64, 9);
    EXPECT_THAT(expected, HasSubstr(absl::StrCat("\"", network.network.image, "\"")));
    for (const int threads : {1, 2, 3}) {
      for (const int64_t group : {1, 7}) {
        EXPECT_EQ(Calibrated(network, threads, group, 9), expected)
            << name << ", " << threads << " threads, groups of " << group;
      }
    }
  }
}

// Each value that is observed beside what a run that keeps them all gives.
TEST(Calibrator, SeesWhatARunComputes) {
  ReadyNetwork network("small_separable");
  const std::vector<std::string>& names = network.options.observed;
  ASSERT_GE(names.size(), 7u);
  const auto executor = Executor::Create(network.test, &network.parameters);
  std::vector<ValueStatistics> expected(names.size());
  const std::vector<CalibrationSample> samples = network.Samples(0, 3);
  for (const CalibrationSample& sample : samples) {
    const auto values = (*executor)->Run(sample.feeds, names, 0);
    ASSERT_TRUE(values.ok()) << values.status();
    for (size_t i = 0; i < names.size(); ++i) {
      expected[i].AddSample(expected[i].histogram.Add((*values)[i].data<float>()));
    }
  }
  const auto calibrator = Calibrator::Create(network.test, &network.parameters, network.options);
  ASSERT_TRUE((*calibrator)->Run(samples).ok());
  const std::vector<RangeProfile::Entry> entries = (*calibrator)->Entries();
  ASSERT_EQ(entries.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(PrintTextMessage(entries[i]), PrintTextMessage(EntryOf(names[i], expected[i])));
  }
}

TEST(Calibrator, ContinuesWhereAProfileEnds) {
  ReadyNetwork network("small_separable");
  const std::string expected = Calibrated(network, 1, 64, 9);
  RangeProfile profile;
  ASSERT_TRUE(ParseTextMessage(Calibrated(network, 2, 3, 4), "profile", &profile).ok());
  network.options.threads = 2;
  const auto calibrator = Calibrator::Create(network.test, &network.parameters, network.options);
  ASSERT_TRUE((*calibrator)->Continue(profile).ok());
  ASSERT_TRUE((*calibrator)->Run(network.Samples(4, 9)).ok());
  EXPECT_EQ(TextOf(**calibrator), expected);

  profile.mutable_entries(0)->set_variable("other");
  EXPECT_THAT(std::string((*calibrator)->Continue(profile).message()),
              StartsWith("\"other\" is not observed in this program"));
}

// Of values and parameters; residuals are not added where they could be, because they are shown.
TEST(Calibrator, NeedsLittleMoreMemoryThanARun) {
  for (const char* name : {"small_separable", "encoder", "resnet20"}) {
    ReadyNetwork network(name);
    executor::ConstantStore constants;
    ExecutorOptions options;
    options.constants = &constants;
    const auto plain = Executor::Create(network.test, &network.parameters, options);
    Observation observation;
    for (const std::string& variable : network.options.observed) {
      observation.variables.emplace(variable, 0);
    }
    options.observation = &observation;
    const auto observing = Executor::Create(network.test, &network.parameters, options);
    const Tensor image = RandomImage(network.network.image_dims, 1);
    double parameters = 0;
    for (const auto& [variable, value] : network.parameters) {
      parameters += static_cast<double>(std::get<Tensor>(value).bytes().size());
    }
    const auto memory_of = [&](Executor& executor) {
      const auto plan =
          executor.PlanOf({Feed{network.network.image, &image}}, {network.network.scores});
      EXPECT_TRUE(plan.ok()) << plan.status();
      return parameters + static_cast<double>((*plan)->arena_bytes);
    };
    EXPECT_LE(memory_of(**observing), 1.2 * memory_of(**plain)) << name;
  }
}

TEST(Calibrator, SeesEachIterationOfALoop) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[-1,2]
      var i i64[1] persistable
      var end i64[1] persistable
      var goes_on bool[1]
      var n i64[1]
      var y f32[-1,2]
      assign(X=i) -> (Out=n)
      assign(X=x) -> (Out=y)
      less_than(X=n, Y=end) -> (Out=goes_on)
      while(X=[y, n, end], Condition=goes_on) -> (Out=[y, n, goes_on], StepScopes=[]) {
        sub_block=block(1)}
      scale(X=y) -> (Out=z) {scale=1.0}
    }
    block 1 parent=0 {
      var twice f32[-1,2]
      scale(X=y) -> (Out=twice) {scale=2.0}
      assign(X=twice) -> (Out=y)
      increment(X=n) -> (Out=n)
      less_than(X=n, Y=end) -> (Out=goes_on)
    })");
  auto parameters = ParseParameters("i i64[1] 0\nend i64[1] 3\n", "parameters");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  CalibrationOptions options;
  options.outputs = {"z"};
  options.observed = {"x", "twice", "z", "never"};
  const auto calibrator = Calibrator::Create(program, &*parameters, options);
  ASSERT_TRUE(calibrator.ok()) << calibrator.status();
  const Tensor x = Tensor::FromValues<float>({1, 2}, {1, -3});
  const CalibrationSample sample{0, {Feed{"x", &x}}};
  const absl::Status status = (*calibrator)->Run(absl::MakeSpan(&sample, 1));
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<RangeProfile::Entry> entries = (*calibrator)->Entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].count(), 2) << "a feed is seen once";
  EXPECT_EQ(entries[1].count(), 6) << "2, 4 and 8 times x";
  EXPECT_EQ(entries[1].min(), -24);
  EXPECT_EQ(entries[1].max(), 8);
  EXPECT_EQ(entries[1].samples(), 1);
  EXPECT_EQ(entries[1].moving_average().sum(), 24);
  EXPECT_EQ(entries[2].count(), 2);
  EXPECT_THAT((*calibrator)->NeverWritten(), ElementsAre("never"));
}

TEST(Calibrator, NamesTheFirstSampleWithANan) {
  ReadyNetwork network("small_separable");
  const std::vector<CalibrationSample> samples = network.Samples(10, 20);
  for (const int64_t id : {14, 18}) network.images[id]->mutable_data<float>()[3] = NAN;
  for (const int threads : {1, 3}) {
    network.options.threads = threads;
    const auto calibrator = Calibrator::Create(network.test, &network.parameters, network.options);
    const absl::Status status = (*calibrator)->Run(samples);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrCat("sample 14: observe: \"", network.network.image,
                                        "\" has a NaN; want numbers")));
  }
}

TEST(Calibrator, RefusesAProgramThatTrains) {
  ReadyNetwork network("small_separable");
  const auto calibrator =
      Calibrator::Create(network.network.main, &network.parameters, network.options);
  EXPECT_EQ(calibrator.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(calibrator.status().message()), HasSubstr("writes the parameter"));
}

}  // namespace
}  // namespace fixpoint
