// Training steps of a network with each pair of quantizers, in turn: fastest and median of the
// processor time, and the fastest beside that of the first pair.
//
//   bazel run --config=opt //benchmarks:quantizer_speed_benchmark -- [--steps=N] [--bits=N]
//       NETWORK BATCH WEIGHTS/ACTIVATIONS...

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "proto/config/quant_spec.pb.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

DEFINE_int32(bits, 4, "the bits of the codes");
DEFINE_int32(steps, 7, "how many steps of each are timed");

namespace fixpoint {
namespace {

QuantSpec Spec(const std::string& quantizer) {
  QuantSpec spec;
  spec.set_quantizer(quantizer);
  spec.set_form(QuantSpec::FUSED);
  spec.set_bits(FLAGS_bits);
  spec.set_granularity(absl::StartsWith(quantizer, "channel_wise_") ? QuantSpec::PER_CHANNEL
                                                                    : QuantSpec::PER_TENSOR);
  return spec;
}

struct Timed {
  std::string pair;
  std::unique_ptr<TimedTrainer> trainer;
  std::vector<double> seconds = {};
};

void Run(const std::string& network, int64_t batch, const std::vector<std::string>& pairs) {
  std::vector<Timed> all;
  for (const std::string& pair : pairs) {
    const std::vector<std::string> names = absl::StrSplit(pair, '/');
    CHECK_EQ(names.size(), 2) << pair << ": want WEIGHTS/ACTIVATIONS";
    TranspileOptions options;
    options.target = *BuiltInTarget("onednn_int8");
    *options.config.mutable_weights() = Spec(names[0]);
    *options.config.mutable_activations() = Spec(names[1]);
    all.push_back(
        {pair, std::make_unique<TimedTrainer>(BuildNetwork(network, batch), std::move(options))});
    all.back().trainer->Step();
  }
  for (int step = 0; step < FLAGS_steps; ++step) {
    for (Timed& timed : all) timed.seconds.push_back(timed.trainer->Step());
  }
  double baseline = 0;
  for (Timed& timed : all) {
    std::sort(timed.seconds.begin(), timed.seconds.end());
    const double fastest = timed.seconds.front();
    if (baseline == 0) baseline = fastest;
    absl::PrintF("%-52s fastest %7.1f ms  median %7.1f ms  beside the first %.3f\n", timed.pair,
                 1e3 * fastest, 1e3 * timed.seconds[timed.seconds.size() / 2], fastest / baseline);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  int batch = 0;
  if (argc < 4 || FLAGS_steps < 1 || !absl::SimpleAtoi(argv[2], &batch) || batch < 1) {
    std::fprintf(stderr, "want NETWORK BATCH WEIGHTS/ACTIVATIONS...\n");
    return 2;
  }
  fixpoint::Run(argv[1], batch, {argv + 3, argv + argc});
  return 0;
}
