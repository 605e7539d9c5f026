// Training steps of float and quantized networks (activations by moving average, weights per
// channel), in turn: medians, their ratio, and where the time goes. Of the processor, or of the
// clock on several threads.
//
//   bazel run --config=opt //benchmarks:training_benchmark -- [--threads=N]
//       [network batch [float|quantized]]
//
// With a network it prints where the time of its steps goes; with one of both, what that takes of
// memory.

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"

DEFINE_int32(threads, 1, "how many threads a step uses");

namespace fixpoint {
namespace {

TimedTrainer Trainer(const std::string& name, int64_t batch, bool quantized, bool profile = false) {
  return TimedTrainer(BuildNetwork(name, batch),
                      quantized ? TrainedAs::kQuantized : TrainedAs::kFloat, profile,
                      FLAGS_threads);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Compare(const std::string& name, int64_t batch, int steps) {
  TimedTrainer in_float = Trainer(name, batch, /*quantized=*/false);
  TimedTrainer quantized = Trainer(name, batch, /*quantized=*/true);
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
  TimedTrainer trainer = Trainer(name, batch, quantized);
  for (int i = 0; i < 3; ++i) trainer.Step();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  absl::PrintF("%s batch %d, %s: peak %.0f MB\n", name, batch, quantized ? "quantized" : "float",
               1e-3 * 1.024 * static_cast<double>(usage.ru_maxrss));
}

void Profile(const std::string& name, int64_t batch, int steps) {
  for (const bool quantized : {false, true}) {
    TimedTrainer trainer = Trainer(name, batch, quantized, /*profile=*/true);
    for (int i = 0; i < steps; ++i) trainer.Step();
    std::printf("\n%s of %s:\n%s", quantized ? "quantized" : "float", name.c_str(),
                trainer.ProfileText().c_str());
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
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
