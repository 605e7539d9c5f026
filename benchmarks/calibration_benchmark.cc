// How long a sample takes when its values are observed, and how much memory the process has had,
// beside runs that observe nothing, both on one thread:
//
//   calibration_benchmark [NETWORK...]

#include <glog/logging.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/clock.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibrator.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/executor/executor.h"
#include "runtime/peak_memory.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

constexpr int kRounds = 15;
constexpr double kRoundSeconds = 0.1;
constexpr int kRunsForMemory = 100;

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

// A network in test mode, with one sample for it.
class TestNetwork {
 public:
  explicit TestNetwork(const std::string& name)
      : network_(BuildNetwork(name, /*batch=*/1)),
        test_(*MakeTestProgram(network_.main)),
        image_(*Tensor::Allocate(VarType::FP32, network_.image_dims)),
        sample_{0, {Feed{network_.image, &image_}}} {
    CHECK((*executor::Executor::Create(network_.startup, &parameters_))->Run({}, {}, 0).ok());
    for (int64_t i = 0; i < image_.size(); ++i) {
      image_.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    }
    options_.outputs = {network_.scores};
    options_.observed = FindObservedVariables(test_, ObservedOutputs::kNone);
  }

  int variables() const { return static_cast<int>(options_.observed.size()); }

  std::function<void()> Plain() {
    executor::ExecutorOptions options;
    options.constants = &constants_;
    plain_ = *executor::Executor::Create(test_, &parameters_, options);
    return [this] { CHECK(plain_->RunInto(sample_.feeds, options_.outputs, 0, &scores_).ok()); };
  }
  std::function<void()> Observed() {
    calibrator_ = *Calibrator::Create(test_, &parameters_, options_);
    return [this] { CHECK(calibrator_->Run({sample_}).ok()); };
  }

 private:
  const Network network_;
  const Program test_;
  Scope parameters_;
  Tensor image_;
  const CalibrationSample sample_;
  CalibrationOptions options_;
  executor::ConstantStore constants_;
  std::unique_ptr<executor::Executor> plain_;
  std::vector<Tensor> scores_;
  std::unique_ptr<Calibrator> calibrator_;
};

// The peak of a process that only runs a network. REQUIRES: this process has run none, and so has
// no threads.
double PeakMegabytes(const std::string& name, std::function<void()> (TestNetwork::*make)()) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    TestNetwork network(name);
    const std::function<void()> run = (network.*make)();
    for (int i = 0; i < kRunsForMemory; ++i) run();
    const int64_t bytes = PeakMemoryBytes();
    _exit(write(ends[1], &bytes, sizeof(bytes)) == sizeof(bytes) ? 0 : 1);
  }
  int64_t bytes = 0;
  CHECK_EQ(read(ends[0], &bytes, sizeof(bytes)), static_cast<ssize_t>(sizeof(bytes)));
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  close(ends[0]);
  close(ends[1]);
  return static_cast<double>(bytes) / (1 << 20);
}

void MeasureMemory(const std::string& name) {
  const double plain = PeakMegabytes(name, &TestNetwork::Plain);
  const double observed = PeakMegabytes(name, &TestNetwork::Observed);
  std::printf("%-16s %9s %12.1f %12.1f %9.2f\n", name.c_str(), "", plain, observed,
              observed / plain);
}

void MeasureTime(const std::string& name) {
  TestNetwork network(name);
  const std::function<void()> run_plain = network.Plain();
  const std::function<void()> run_observed = network.Observed();
  run_plain();
  run_observed();
  std::vector<double> plain_seconds;
  std::vector<double> observed_seconds;
  for (int i = 0; i < kRounds; ++i) {
    plain_seconds.push_back(Round(run_plain));
    observed_seconds.push_back(Round(run_observed));
  }
  std::printf("%-16s %9d %12.3f %12.3f %9.2f\n", name.c_str(), network.variables(),
              1e3 * Median(plain_seconds), 1e3 * Median(observed_seconds),
              Median(observed_seconds) / Median(plain_seconds));
}

void Run(int argc, char** argv) {
  std::vector<std::string> networks(argv + 1, argv + argc);
  if (networks.empty()) networks = {"lenet5", "resnet20", "mobilenet_v1", "encoder"};
  constexpr char kTitles[] = "%-16s %9s %12s %12s %9s\n";
  std::printf(kTitles, "network", "", "plain MB", "observed MB", "ratio");
  for (const std::string& network : networks) MeasureMemory(network);
  std::printf(kTitles, "network", "variables", "plain ms", "observed ms", "ratio");
  for (const std::string& network : networks) MeasureTime(network);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::Run(argc, argv);
  return 0;
}
