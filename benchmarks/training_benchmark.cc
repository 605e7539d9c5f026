// Training steps of float and quantized networks (activations by moving average, weights per
// channel), in turn, on one thread: medians, their ratio, and where the time goes.
//
//   bazel run --config=opt //benchmarks:training_benchmark -- [network batch [float|quantized]]
//
// With a network it prints where the time of its steps goes; with one of both, what that takes of
// memory.

#include <glog/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "benchmarks/networks.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "transpiler/quantize_transpiler.h"

namespace fixpoint {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A network with its parameters, ready to step.
class Trainer {
 public:
  Trainer(Network network, bool quantized, bool profile = false) : network_(std::move(network)) {
    if (quantized) {
      TranspileOptions options;
      options.config.set_target("onednn_int8");
      options.startup = &network_.startup;
      const auto transpiled = Transpile(&network_.main, options);
      CHECK(transpiled.ok()) << transpiled.status();
    }
    auto startup = executor::Executor::Create(network_.startup, &scope_, {/*seed=*/1});
    CHECK(startup.ok()) << startup.status();
    const auto initialised = (*startup)->Run({}, {}, 0);
    CHECK(initialised.ok()) << initialised.status();
    executor::ExecutorOptions options;
    options.profile = profile;
    auto made = executor::Executor::Create(network_.main, &scope_, options);
    CHECK(made.ok()) << made.status();
    executor_ = *std::move(made);
    const RandomStream random(1, 0, 0);
    for (int64_t i = 0; i < image_.size(); ++i) {
      image_.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
    }
    for (int64_t i = 0; i < label_.size(); ++i) label_.mutable_data<int64_t>()[i] = i * 7 % 10;
  }

  // Gives the seconds of a step.
  double Step() {
    const double begin = CpuSeconds();
    const Feed feeds[] = {{network_.image, &image_}, {network_.label, &label_}};
    const auto loss = executor_->Run(feeds, {network_.loss}, step_++);
    CHECK(loss.ok()) << loss.status();
    loss_ = loss->front().data<float>()[0];
    return CpuSeconds() - begin;
  }

  const executor::Plan& plan() {
    const Feed feeds[] = {{network_.image, &image_}, {network_.label, &label_}};
    return **executor_->PlanOf(feeds, {network_.loss});
  }
  float loss() const { return loss_; }
  std::string ProfileText() const { return executor_->ProfileText(); }
  std::string PlanText() const { return executor_->PlanText(); }

 private:
  Network network_;
  Scope scope_;
  std::unique_ptr<executor::Executor> executor_;
  Tensor image_ = *Tensor::Allocate(VarType::FP32, network_.image_dims);
  Tensor label_ = *Tensor::Allocate(VarType::INT64, {network_.image_dims[0], 1});
  uint32_t step_ = 0;
  float loss_ = 0;
};

void Compare(const std::string& name, int64_t batch, int steps) {
  Trainer in_float(BuildNetwork(name, batch), /*quantized=*/false);
  Trainer quantized(BuildNetwork(name, batch), /*quantized=*/true);
  std::vector<double> float_seconds;
  std::vector<double> quantized_seconds;
  in_float.Step();
  quantized.Step();
  for (int i = 0; i < steps; ++i) {
    float_seconds.push_back(in_float.Step());
    quantized_seconds.push_back(quantized.Step());
  }
  const double of_float = Median(float_seconds);
  const double of_quantized = Median(quantized_seconds);
  absl::PrintF(
      "%-12s batch %3d  float %8.2f ms  quantized %8.2f ms  quantized : float %.3f  "
      "arena %.1f and %.1f MB  losses %.3f and %.3f\n",
      name, batch, 1e3 * of_float, 1e3 * of_quantized, of_quantized / of_float,
      1e-6 * static_cast<double>(in_float.plan().arena_bytes),
      1e-6 * static_cast<double>(quantized.plan().arena_bytes), in_float.loss(), quantized.loss());
}

// What one trainer takes of memory, in a process of its own.
void MeasureMemory(const std::string& name, int64_t batch, bool quantized) {
  Trainer trainer(BuildNetwork(name, batch), quantized);
  for (int i = 0; i < 3; ++i) trainer.Step();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  absl::PrintF("%s batch %d, %s: peak %.0f MB\n", name, batch, quantized ? "quantized" : "float",
               1e-3 * 1.024 * static_cast<double>(usage.ru_maxrss));
}

void Profile(const std::string& name, int64_t batch, int steps) {
  for (const bool quantized : {false, true}) {
    Trainer trainer(BuildNetwork(name, batch), quantized, /*profile=*/true);
    for (int i = 0; i < steps; ++i) trainer.Step();
    std::printf("\n%s of %s:\n%s", quantized ? "quantized" : "float", name.c_str(),
                trainer.ProfileText().c_str());
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  if (argc == 4) {
    fixpoint::MeasureMemory(argv[1], std::atoi(argv[2]), argv[3] == std::string("quantized"));
    return 0;
  }
  if (argc == 3) {
    fixpoint::Compare(argv[1], std::atoi(argv[2]), 15);
    fixpoint::Profile(argv[1], std::atoi(argv[2]), 15);
    return 0;
  }
  fixpoint::Compare("lenet5", 64, 50);
  fixpoint::Compare("resnet20", 128, 9);
  fixpoint::Compare("mobilenet_v1", 32, 9);
  return 0;
}
