// How long a sample takes when its values are observed, beside a run that observes nothing, both on
// one thread:
//
//   calibration_benchmark [NETWORK...]

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/clock.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibrator.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

constexpr int kRounds = 15;
constexpr double kRoundSeconds = 0.1;

// The mean seconds of the runs of a round.
template <typename RunOnce>
double Round(RunOnce run_once) {
  const double begin = WallSeconds();
  int runs = 0;
  for (; WallSeconds() - begin < kRoundSeconds; ++runs) run_once();
  return (WallSeconds() - begin) / runs;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Measure(const std::string& name) {
  const Network network = BuildNetwork(name, /*batch=*/1);
  const auto test = MakeTestProgram(network.main);
  CHECK(test.ok()) << test.status();
  Scope parameters;
  CHECK((*executor::Executor::Create(network.startup, &parameters))->Run({}, {}, 0).ok());
  Tensor image = *Tensor::Allocate(VarType::FP32, network.image_dims);
  for (int64_t i = 0; i < image.size(); ++i) {
    image.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 1000) / 1000;
  }
  const CalibrationSample sample{0, {Feed{network.image, &image}}};

  CalibrationOptions options;
  options.outputs = {network.scores};
  options.observed = FindObservedVariables(*test, ObservedOutputs::kNone);
  const auto calibrator = Calibrator::Create(*test, &parameters, options);
  CHECK(calibrator.ok()) << calibrator.status();
  executor::ConstantStore constants;
  executor::ExecutorOptions plain_options;
  plain_options.constants = &constants;
  const auto plain = executor::Executor::Create(*test, &parameters, plain_options);
  std::vector<Tensor> scores;
  const auto run_plain = [&] {
    CHECK((*plain)->RunInto(sample.feeds, options.outputs, 0, &scores).ok());
  };
  const auto run_observed = [&] { CHECK((*calibrator)->Run({sample}).ok()); };
  run_plain();
  run_observed();
  std::vector<double> plain_seconds;
  std::vector<double> observed_seconds;
  for (int i = 0; i < kRounds; ++i) {
    plain_seconds.push_back(Round(run_plain));
    observed_seconds.push_back(Round(run_observed));
  }
  std::printf("%-16s %9d %12.3f %12.3f %9.2f\n", name.c_str(),
              static_cast<int>(options.observed.size()), 1e3 * Median(plain_seconds),
              1e3 * Median(observed_seconds), Median(observed_seconds) / Median(plain_seconds));
}

void Run(int argc, char** argv) {
  std::vector<std::string> networks(argv + 1, argv + argc);
  if (networks.empty()) networks = {"lenet5", "resnet20", "mobilenet_v1", "encoder"};
  std::printf("%-16s %9s %12s %12s %9s\n", "network", "variables", "plain ms", "observed ms",
              "ratio");
  for (const std::string& network : networks) Measure(network);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::Run(argc, argv);
  return 0;
}
