// The depthwise convolutions of MobileNetV1 on codes, beside those on floats and a copy of as much
// memory as they read and write, in one run and on one thread:
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:depthwise_benchmark
//
// Gigabytes per second, what the operations are of the instructions' peak, and how the times are to
// each other. Runs of one shape follow each other, so what fits in a cache is found there.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/peaks.h"

namespace fixpoint::kernels {
namespace {

ConvolutionShape Layer(int64_t batch, int64_t channels, int64_t size, int64_t stride) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.channels = shape.filters = shape.groups = channels;
  shape.height = shape.width = size;
  shape.window = {WindowAxis{3, stride, 1, 1, 1}, WindowAxis{3, stride, 1, 1, 1}};
  CHECK(CompleteShape(&shape).ok());
  return shape;
}

void Measure(const ConvolutionShape& shape, const Peaks& peaks) {
  const auto of_codes = PlanIntegerConvolution(shape, CodeType::kUint8);
  const auto of_floats = ConvolutionForward::Plan(shape);
  CHECK(of_codes.ok() && of_floats.ok()) << of_codes.status() << of_floats.status();
  const std::vector<uint8_t> codes(shape.input_size(), 3);
  const std::vector<int8_t> filter_codes(shape.filter_size(), 2);
  const std::vector<float> scales(shape.filters, 1);
  const std::vector<float> images(codes.begin(), codes.end());
  const std::vector<float> filters(filter_codes.begin(), filter_codes.end());
  std::vector<float> out(shape.output_size());
  const std::vector<uint8_t> packed_codes = Packed(**of_codes, filter_codes);
  const std::vector<uint8_t> packed = Packed(**of_floats, filters);

  const size_t bytes = codes.size() + out.size() * sizeof(float);
  const double speed = MemorySpeed(bytes, [&] {
    (*of_codes)->Run({codes, packed_codes, scales}, absl::MakeSpan(out));
  });
  const double float_speed =
      MemorySpeed(bytes, [&] { (*of_floats)->Run(images, packed, {}, absl::MakeSpan(out)); });
  const std::vector<char> from(bytes / 2, 1);
  std::vector<char> to(from.size());
  const double copy = MemorySpeed(bytes, [&] { std::memcpy(to.data(), from.data(), to.size()); });
  const double operations = 2.0 * static_cast<double>(shape.output_size() * shape.taps());
  const double operations_per_second = operations * speed * 1e9 / static_cast<double>(bytes);
  std::printf("  %2dx%3dx%3dx%4d /%d %8.1f %6.1f %5.0f%% %14.2f  %s\n",
              static_cast<int>(shape.batch), static_cast<int>(shape.height),
              static_cast<int>(shape.width), static_cast<int>(shape.channels),
              static_cast<int>(shape.window[0].stride), speed, copy,
              100 * operations_per_second / peaks.integer_operations, float_speed / speed,
              (*of_codes)->implementation().c_str());
}

void Run() {
  const Peaks peaks = MeasurePeaks();
  std::printf("  %-18s %8s %6s %6s %14s\n", "images / stride", "codes", "copy", "peak",
              "codes : floats");
  for (const auto& [batch, size] : {std::pair<int64_t, int64_t>{32, 48}, {1, 112}}) {
    Measure(Layer(batch, 32, size, 1), peaks);
    Measure(Layer(batch, 64, size, 2), peaks);
    Measure(Layer(batch, 128, size / 2, 1), peaks);
    Measure(Layer(batch, 128, size / 2, 2), peaks);
    Measure(Layer(batch, 256, size / 4, 1), peaks);
    Measure(Layer(batch, 256, size / 4, 2), peaks);
    Measure(Layer(batch, 512, size / 8, 1), peaks);
    Measure(Layer(batch, 512, size / 8, 2), peaks);
    Measure(Layer(batch, 1024, size / 16, 1), peaks);
  }
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  fixpoint::kernels::Run();
  return 0;
}
