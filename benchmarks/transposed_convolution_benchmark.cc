// Transposed convolutions of codes beside those of floats, in the shapes of segmentation, text
// detection and generators:
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:transposed_convolution_benchmark
//
// Milliseconds of one thread's processor time, medians of rounds in which both take turns.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ops/window.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/integer_transposed_convolution.h"

namespace fixpoint::kernels {
namespace {

constexpr int kRounds = 15;

template <typename Run>
double ProcessorMilliseconds(Run run) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  };
  const double start = now();
  run();
  return now() - start;
}

double Median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

struct Layer {
  const char* name;
  int64_t in_channels;
  int64_t in_size;
  int64_t out_channels;
  int64_t out_size;
  WindowAxis window;
  int64_t groups;
};

void Measure(const Layer& layer) {
  ConvolutionShape shape;  // of the convolution whose way back this is
  shape.channels = layer.out_channels;
  shape.height = shape.width = layer.out_size;
  shape.filters = layer.in_channels;
  shape.groups = layer.groups;
  shape.window = {layer.window, layer.window};
  CHECK(CompleteShape(&shape).ok());
  CHECK_EQ(shape.out_height, layer.in_size);

  const auto floats = *ConvolutionBackwardImages<float>::Plan(shape);
  const auto integers = *PlanIntegerTransposedConvolution(shape, CodeType::kUint8);
  std::vector<uint8_t> codes(shape.output_size());
  std::vector<int8_t> filter_codes(shape.filter_size());
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 37 % 256);
  for (size_t i = 0; i < filter_codes.size(); ++i) {
    filter_codes[i] = static_cast<int8_t>(static_cast<int>(i * 53 % 255) - 127);
  }
  const std::vector<float> x(codes.begin(), codes.end());
  const std::vector<float> filters(filter_codes.begin(), filter_codes.end());
  const std::vector<float> scales(shape.channels, 1.0f);
  const auto packed = Packed(*floats, filters);
  const auto packed_codes = Packed(*integers, filter_codes);
  std::vector<float> y(shape.input_size());

  std::vector<double> of_floats;
  std::vector<double> of_integers;
  for (int round = -1; round < kRounds; ++round) {
    const double first = ProcessorMilliseconds([&] { floats->Run(x, packed, absl::MakeSpan(y)); });
    const double second = ProcessorMilliseconds([&] {
      integers->Run({codes, packed_codes, scales}, absl::MakeSpan(y));
    });
    if (round < 0) continue;
    of_floats.push_back(first);
    of_integers.push_back(second);
  }
  const double milliseconds = Median(of_floats);
  std::printf("%-42s %8.2f ms %8.2f ms %7.2f  %s\n", layer.name, milliseconds, Median(of_integers),
              Median(of_integers) / milliseconds, integers->implementation().c_str());
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  using fixpoint::WindowAxis;
  using fixpoint::kernels::Layer;
  std::printf("%-42s %11s %11s %7s  %s\n", "", "floats", "integers", "ratio", "integers run by");
  // A window is its kernel, stride, dilation, and the padding before and after.
  const Layer kLayers[] = {
      {"64 to 64, 2x2 stride 2, 80x80", 64, 80, 64, 160, {2, 2, 1, 0, 0}, 1},
      {"256 to 128, 2x2 stride 2, 28x28", 256, 28, 128, 56, {2, 2, 1, 0, 0}, 1},
      {"128 to 64, 3x3 stride 2, 32x32", 128, 32, 64, 64, {3, 2, 1, 1, 1}, 1},
      {"512 to 256, 4x4 stride 2, 8x8", 512, 8, 256, 16, {4, 2, 1, 1, 1}, 1},
      {"128 to 64, 4x4 stride 2, 32x32", 128, 32, 64, 64, {4, 2, 1, 1, 1}, 1},
      {"64 to 64, 3x3 stride 1, 56x56", 64, 56, 64, 56, {3, 1, 1, 1, 1}, 1},
      {"21 to 21, 16x16 stride 8, 34x34", 21, 34, 21, 272, {16, 8, 1, 4, 4}, 1},
      {"64 to 64, 4x4 stride 2, 56x56, depthwise", 64, 56, 64, 112, {4, 2, 1, 1, 1}, 64},
  };
  for (const Layer& layer : kLayers) fixpoint::kernels::Measure(layer);
}
