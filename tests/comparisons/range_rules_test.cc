// Networks that were never trained with quantizers are quantized by ranges that rules choose from
// what calibration observed: simulated, portable and lowered programs compute the same bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibrator.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::IsEmpty;

constexpr int64_t kSamples = 6;

RangeProfile ProfileOf(const Network& network, const Program& test, Scope* parameters) {
  CalibrationOptions options;
  options.outputs = {network.scores};
  options.observed = FindObservedVariables(test, ObservedOutputs::kNone);
  const auto calibrator = Calibrator::Create(test, parameters, options);
  EXPECT_TRUE(calibrator.ok()) << calibrator.status();
  std::vector<int64_t> dims = network.image_dims;
  dims[0] = 1;
  for (int64_t i = 0; i < kSamples; ++i) {
    const Tensor image = RandomImages(dims, static_cast<uint64_t>(i));
    const CalibrationSample sample{i, {Feed{network.image, &image}}};
    const absl::Status status = (*calibrator)->Run(absl::MakeSpan(&sample, 1));
    EXPECT_TRUE(status.ok()) << status;
  }
  RangeProfile profile;
  for (RangeProfile::Entry& entry : (*calibrator)->Entries()) {
    *profile.add_entries() = std::move(entry);
  }
  return profile;
}

struct Compared {
  FormsComparison forms;
  std::vector<float> ranges;  // the upper ends of the plan's activations
};

Compared CompareCalibrated(const std::string& name, const std::string& config) {
  Network network = BuildNetwork(name, /*batch=*/2);
  auto test = MakeTestProgram(network.main);
  EXPECT_TRUE(test.ok()) << test.status();
  Scope parameters;
  EXPECT_TRUE((*Executor::Create(network.startup, &parameters))->Run({}, {}, 0).ok());
  const RangeProfile profile = ProfileOf(network, *test, &parameters);

  TranspileOptions options;
  EXPECT_TRUE(ParseTextMessage(config, "config", &options.config).ok());
  options.profile = &profile;
  const auto transpiled = Transpile(&*test, options);
  EXPECT_TRUE(transpiled.ok()) << transpiled.status();
  Compared compared;
  for (const QuantPlan::Site& site : transpiled->plan.sites()) {
    compared.ranges.push_back(site.range().max());
  }
  EXPECT_TRUE((*Executor::Create(*transpiled->new_startup, &parameters))->Run({}, {}, 0).ok());
  const auto forms = MakeForms(*test, std::move(parameters), network.image, {network.scores});
  EXPECT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "depthwise_conv2d", "mul"}), IsEmpty());
  auto differences =
      CompareForms(**forms, RandomImages(network.image_dims, 99), Fetching::kAllInOneRun);
  EXPECT_TRUE(differences.ok()) << differences.status();
  compared.forms = *std::move(differences);
  EXPECT_EQ(compared.forms.variables.count(network.scores), 1u);
  return compared;
}

TEST(RangeRules, TheFormsOfACalibratedNetworkAgree) {
  for (const char* name : {"lenet5", "small_separable"}) {
    std::set<std::vector<float>> ranges;
    for (const char* rule : {"MIN_MAX", "PERCENTILE percentile: 99", "MSE", "KL"}) {
      const Compared compared = CompareCalibrated(
          name, absl::StrCat("target: \"onednn_int8\" activations { range_rule: ", rule, " }"));
      EXPECT_THAT(compared.forms.differences, IsEmpty()) << name << ", " << rule;
      ranges.insert(compared.ranges);
    }
    EXPECT_EQ(ranges.size(), 4u) << name << ": rules choose ranges of their own";
  }
}

TEST(RangeRules, SoDoThoseOfOneWithZeroPoints) {
  const Compared compared = CompareCalibrated("lenet5",
                                              "target: \"onednn_int8\" activations { quantizer: "
                                              "\"moving_average_min_max\" range_rule: MSE }");
  EXPECT_THAT(compared.forms.differences, IsEmpty());
}

}  // namespace
}  // namespace fixpoint
