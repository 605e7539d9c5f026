// A network's inference in float and on integers, in turn, on one thread:
//
//   inference_benchmark [NETWORK BATCH [profile]]

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/timed_predictor.h"

namespace fixpoint {
namespace {

constexpr int kRounds = 15;
constexpr double kRoundSeconds = 0.05;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The mean time of a round of runs.
double Round(TimedPredictor& predictor) {
  double seconds = 0;
  int runs = 0;
  for (; seconds < kRoundSeconds; ++runs) seconds += predictor.Run();
  return seconds / runs;
}

void Measure(const std::string& network, int64_t batch, bool profile) {
  TimedPredictor of_floats(network, Form::kFloat, batch, profile);
  TimedPredictor of_codes(network, Form::kLowered, batch, profile);
  std::vector<double> float_times;
  std::vector<double> code_times;
  Round(of_floats);
  Round(of_codes);
  for (int round = 0; round < kRounds; ++round) {
    float_times.push_back(Round(of_floats));
    code_times.push_back(Round(of_codes));
  }
  const double float_time = Median(float_times);
  const double code_time = Median(code_times);
  std::printf("%-16s %3d %9.3f ms %9.3f ms %6.2f  parameters %.2f MB, %.2f MB (%.2f)\n",
              network.c_str(), static_cast<int>(batch), 1e3 * float_time, 1e3 * code_time,
              float_time / code_time, 1e-6 * of_floats.predictor().parameter_bytes(),
              1e-6 * of_codes.predictor().parameter_bytes(),
              static_cast<double>(of_codes.predictor().parameter_bytes()) /
                  static_cast<double>(of_floats.predictor().parameter_bytes()));
  if (!profile) return;
  std::printf("%s\n%s\n", of_floats.predictor().ProfileText().c_str(),
              of_codes.predictor().ProfileText().c_str());
}

void Run(int argc, char** argv) {
  std::printf("%-16s %3s %12s %12s %6s\n", "network", "n", "float", "int8", "ratio");
  if (argc >= 3) {
    Measure(argv[1], std::atoi(argv[2]), /*profile=*/argc > 3);
    return;
  }
  for (const char* network : {"lenet5", "resnet20", "mobilenet_v1", "resnet50"}) {
    for (const int64_t batch : {1, 32}) Measure(network, batch, /*profile=*/false);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::Run(argc, argv);
  return 0;
}
