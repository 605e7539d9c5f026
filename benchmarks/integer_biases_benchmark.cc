// What biases in int32 cost whole networks: the lowered form of a network that was trained for a
// target with `bias: INT32`, and of the same one with biases in float, in turn, on one thread.
//
//   ./bazelw run --config=opt //benchmarks:integer_biases_benchmark
//   integer_biases_benchmark NETWORK BATCH
//
// Convolutions that have a batch norm in networks.h have a bias instead. Milliseconds of processor
// time, the least and the median of the rounds, and the ratios of these; how many ops add up codes,
// and how many of them begin at a bias in int32.

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/inference_form.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_predictor.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr double kSecondsOfRound = 0.01;
constexpr double kSecondsOfNetwork = 10;
constexpr int kLeastRounds = 9;

// The mean time of a run.
double Round(TimedPredictor& predictor, int runs) {
  double seconds = 0;
  for (int i = 0; i < runs; ++i) seconds += predictor.Run();
  return seconds / runs;
}

// How many sums of codes a lowered program has, and how many of them begin at a bias.
struct Sums {
  int count = 0;
  int with_bias = 0;
};

Sums SumsOf(const Program& program) {
  Sums sums;
  for (const Op& op : program.ops()) {
    if (op.Input("Scales") == nullptr) continue;
    ++sums.count;
    if (op.Input("Bias") != nullptr) ++sums.with_bias;
  }
  return sums;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Measure(const std::string& network, int64_t batch) {
  const auto predictor = [&](Form form) {
    return TimedPredictor(MakeInferenceForm(network, form, AfterConvolution::kBias), batch);
  };
  TimedPredictor in_float = predictor(Form::kLowered);
  TimedPredictor in_int32 = predictor(Form::kLoweredWithIntegerBiases);
  const Sums sums = SumsOf(in_int32.predictor().program());
  CHECK_EQ(SumsOf(in_float.predictor().program()).with_bias, 0);
  Round(in_float, 1);
  Round(in_int32, 1);
  const int runs = std::max(1, static_cast<int>(kSecondsOfRound / Round(in_float, 1)));
  std::vector<double> float_times;
  std::vector<double> int32_times;
  double seconds = 0;
  while (seconds < kSecondsOfNetwork || float_times.size() < kLeastRounds) {
    float_times.push_back(Round(in_float, runs));
    int32_times.push_back(Round(in_int32, runs));
    seconds += runs * (float_times.back() + int32_times.back());
  }
  const double least_float = *std::min_element(float_times.begin(), float_times.end());
  const double least_int32 = *std::min_element(int32_times.begin(), int32_times.end());
  const double median_float = Median(std::move(float_times));
  const double median_int32 = Median(std::move(int32_times));
  std::printf("%-16s %3d %10.4f %10.4f %6.3f %10.4f %10.4f %6.3f   %d of %d\n", network.c_str(),
              static_cast<int>(batch), 1e3 * least_float, 1e3 * least_int32,
              least_int32 / least_float, 1e3 * median_float, 1e3 * median_int32,
              median_int32 / median_float, sums.with_bias, sums.count);
  std::fflush(stdout);
}

void Run(int argc, char** argv) {
  std::printf("%-20s %28s %28s   %s\n%-20s %10s %10s %6s %10s %10s %6s\n", "", "least", "median",
              "in int32", "network, batch", "float", "int32", "ratio", "float", "int32", "ratio");
  if (argc == 3) return Measure(argv[1], std::atoi(argv[2]));
  for (const std::string& network : NetworkNames()) {
    // Without its norms, its activations overflow.
    if (network == "resnet50") continue;
    for (const int64_t batch : {1, 32}) Measure(network, batch);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::Run(argc, argv);
  return 0;
}
