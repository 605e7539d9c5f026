// Training steps of float and quantized networks (activations by moving average, weights per
// channel), in turn: medians, their ratio, and where the time goes. Of the processor, or of the
// clock on several threads.
//
//   bazel run --config=opt //benchmarks:training_benchmark -- [--threads=N]
//       [--backward=bf16|codes] [--recompute=PERCENT] [network batch [float|quantized]]
//
// With --backward=bf16, steps with backward passes in bf16 and in f32 in turn, in float and
// quantized.
// With --backward=codes, steps with one scale for each weight and gradients in f32, in bf16 where
// the processor has it, and as codes of 8 bits.
// With --recompute, all steps may take that much longer for less memory. With a network it prints
// where the time of its steps goes; with one of both, what that takes of memory.

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "runtime/backward_precision.h"
#include "runtime/kernels/bfloat16.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

DEFINE_int32(threads, 1, "how many threads a step uses");
DEFINE_string(backward, "f32", "what gradients multiply: f32, bf16 or codes");
DEFINE_int32(recompute, 0, "the percent of its time that a step may take longer for less memory");

namespace fixpoint {
namespace {

constexpr char kCodes[] = "codes";

BackwardPrecision BackwardOfFlag() {
  if (FLAGS_backward == kCodes) return BackwardPrecision::kFloat;
  const auto precision = BackwardPrecisionOfName(FLAGS_backward);
  CHECK(precision.ok()) << precision.status();
  return *precision;
}

TimedTrainer Trainer(const std::string& name, int64_t batch, bool quantized, bool profile = false,
                     BackwardPrecision backward = BackwardPrecision::kFloat) {
  return TimedTrainer(BuildNetwork(name, batch),
                      quantized ? TrainedAs::kQuantized : TrainedAs::kFloat, profile, FLAGS_threads,
                      backward, FLAGS_recompute / 100.0);
}

// With a weight's scale that leaves the sums of the gradient of images.
TimedTrainer WithOneScale(const std::string& name, int64_t batch, bool has_gradient_codes,
                          bool profile = false,
                          BackwardPrecision backward = BackwardPrecision::kFloat) {
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  options.config.mutable_weights()->set_quantizer("abs_max");
  options.config.mutable_weights()->set_granularity(QuantSpec::PER_TENSOR);
  if (has_gradient_codes) options.config.mutable_gradients();
  return TimedTrainer(BuildNetwork(name, batch), options, profile, FLAGS_threads, backward,
                      FLAGS_recompute / 100.0);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Medians of the seconds of steps that take turns.
std::pair<double, double> InTurn(TimedTrainer* first, TimedTrainer* second, int steps) {
  std::vector<double> of_first;
  std::vector<double> of_second;
  first->Step();
  second->Step();
  for (int i = 0; i < steps; ++i) {
    of_first.push_back(first->Step());
    of_second.push_back(second->Step());
  }
  return {Median(of_first), Median(of_second)};
}

void CompareQuantized(const std::string& name, int64_t batch, int steps) {
  TimedTrainer in_float = Trainer(name, batch, /*quantized=*/false);
  TimedTrainer quantized = Trainer(name, batch, /*quantized=*/true);
  const auto [of_float, of_quantized] = InTurn(&in_float, &quantized, steps);
  absl::PrintF(
      "%-12s batch %3d  float %8.2f ms  quantized %8.2f ms  quantized : float %.3f  "
      "arena %.1f and %.1f MB  losses %.3f and %.3f\n",
      name, batch, 1e3 * of_float, 1e3 * of_quantized, of_quantized / of_float,
      1e-6 * static_cast<double>(in_float.plan().arena_bytes),
      1e-6 * static_cast<double>(quantized.plan().arena_bytes), in_float.loss(), quantized.loss());
}

// With backward passes in float and in bfloat16.
void CompareBackward(const std::string& name, int64_t batch, int steps) {
  for (const bool quantized : {false, true}) {
    TimedTrainer in_float = Trainer(name, batch, quantized);
    TimedTrainer in_bfloat16 =
        Trainer(name, batch, quantized, /*profile=*/false, BackwardPrecision::kBfloat16);
    const auto [of_float, of_bfloat16] = InTurn(&in_float, &in_bfloat16, steps);
    absl::PrintF(
        "%-12s batch %3d  %-9s  backward f32 %8.2f ms  bf16 %8.2f ms  bf16 : f32 %.3f  "
        "losses %.3f and %.3f\n",
        name, batch, quantized ? "quantized" : "float", 1e3 * of_float, 1e3 * of_bfloat16,
        of_bfloat16 / of_float, in_float.loss(), in_bfloat16.loss());
  }
}

// With gradients in float or bfloat16, and as codes.
void CompareCodes(const std::string& name, int64_t batch, int steps) {
  for (const auto backward : {BackwardPrecision::kFloat, BackwardPrecision::kBfloat16}) {
    const bool is_float = backward == BackwardPrecision::kFloat;
    if (!is_float && !kernels::HasBfloat16Products()) continue;
    TimedTrainer numbers =
        WithOneScale(name, batch, /*has_gradient_codes=*/false, /*profile=*/false, backward);
    TimedTrainer codes = WithOneScale(name, batch, /*has_gradient_codes=*/true);
    const auto [of_numbers, of_codes] = InTurn(&numbers, &codes, steps);
    const char* const what = is_float ? "f32" : "bf16";
    absl::PrintF(
        "%-12s batch %3d  quantized  backward %-4s %8.2f ms  codes %8.2f ms  codes : %s %.3f  "
        "losses %.3f and %.3f\n",
        name, batch, what, 1e3 * of_numbers, 1e3 * of_codes, what, of_codes / of_numbers,
        numbers.loss(), codes.loss());
  }
}

void Compare(const std::string& name, int64_t batch, int steps) {
  if (FLAGS_backward == kCodes) {
    CompareCodes(name, batch, steps);
  } else if (BackwardOfFlag() == BackwardPrecision::kBfloat16) {
    CompareBackward(name, batch, steps);
  } else {
    CompareQuantized(name, batch, steps);
  }
}

// What one trainer takes of memory, in a process of its own.
void MeasureMemory(const std::string& name, int64_t batch, bool quantized) {
  TimedTrainer trainer = Trainer(name, batch, quantized, /*profile=*/false, BackwardOfFlag());
  for (int i = 0; i < 3; ++i) trainer.Step();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  absl::PrintF("%s batch %d, %s: peak %.0f MB\n", name, batch, quantized ? "quantized" : "float",
               1e-3 * 1.024 * static_cast<double>(usage.ru_maxrss));
}

void Profile(const std::string& name, int64_t batch, int steps) {
  if (FLAGS_backward == kCodes) {
    TimedTrainer trainer = WithOneScale(name, batch, /*has_gradient_codes=*/true, /*profile=*/true);
    for (int i = 0; i < steps; ++i) trainer.Step();
    std::printf("\n%s with gradients as codes:\n%s", name.c_str(), trainer.ProfileText().c_str());
    return;
  }
  for (const bool quantized : {false, true}) {
    TimedTrainer trainer = Trainer(name, batch, quantized, /*profile=*/true, BackwardOfFlag());
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
