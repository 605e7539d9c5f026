// What batch normalization costs beside copying memory, in one run and on one thread, of images
// that lie in no cache:
//
//   ./bazelw run --config=opt //benchmarks:batch_norm_benchmark
//
// Gigabytes per second, read and written: of the copy, of the passes forward (statistics, and y or
// its codes), and of those backward.

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/batch_norm.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/tensor.h"

namespace fixpoint::kernels {
namespace {

void Measure(int64_t batch, int64_t size, int64_t channels) {
  BatchNormShape shape{batch, channels, size, size};
  shape.relu = BatchNormShape::Relu::kOfNumbers;
  auto planned = BatchNorm::Plan(shape);
  CHECK(planned.ok()) << planned.status();
  BatchNorm& norm = **planned;
  const std::vector<float> scale(channels, 2.5f);
  const std::vector<float> bias(channels, 0.1f);
  std::vector<float> of_channels[9];
  for (std::vector<float>& each : of_channels) each.resize(channels);
  const BatchStatistics statistics = {
      absl::MakeSpan(of_channels[0]), absl::MakeSpan(of_channels[1]),
      absl::MakeSpan(of_channels[2]), absl::MakeSpan(of_channels[3]),
      absl::MakeSpan(of_channels[8])};
  const GradientStatistics of_gradient = {absl::MakeSpan(of_channels[4]),
                                          absl::MakeSpan(of_channels[5])};
  float range = 0;

  // So many images that the first are in no cache when the last have been read.
  constexpr int64_t kElements = int64_t{24} << 20;
  const int64_t count = std::max<int64_t>(2, kElements / shape.size());
  Tensor images = *Tensor::Allocate(VarType::FP32, {count, shape.size()});
  Tensor gradients = *Tensor::Allocate(VarType::FP32, {count, shape.size()});
  Tensor codes = *Tensor::Allocate(VarType::UINT8, {count, shape.size()});
  for (int64_t i = 0; i < images.size(); ++i) {
    images.mutable_data<float>()[i] = static_cast<float>(i % 1001) * 0.01f - 5;
    gradients.mutable_data<float>()[i] = static_cast<float>(i % 997) * 0.01f - 5;
  }
  const auto show = [&](size_t bytes_of_element, auto run) {
    int64_t at = 0;
    const double speed = MemorySpeed(bytes_of_element * static_cast<size_t>(shape.size()), [&] {
      run(images.mutable_data<float>().subspan(at, shape.size()),
          gradients.mutable_data<float>().subspan(at, shape.size()),
          codes.mutable_data<uint8_t>().subspan(at, shape.size()));
      at = (at + shape.size()) % images.size();
    });
    std::printf(" %10.1f", speed);
  };
  using Floats = absl::Span<float>;
  using Codes = absl::Span<uint8_t>;
  std::printf("%4lld x %3lld x %3lld x %4lld   ", static_cast<long long>(batch),
              static_cast<long long>(size), static_cast<long long>(size),
              static_cast<long long>(channels));
  show(8, [&](Floats x, Floats dy, Codes) {
    std::memcpy(dy.data(), x.data(), x.size() * sizeof(float));
  });
  show(4,
       [&](Floats x, Floats, Codes) { norm.FindStatistics(x, scale, bias, statistics, &range); });
  show(8, [&](Floats x, Floats y, Codes) { norm.Normalize(x, statistics, y); });
  show(5, [&](Floats x, Floats, Codes all) {
    norm.Normalize(x, statistics, range, SymmetricCodes(9, QuantSpec::HALF_TO_EVEN), all);
  });
  show(8, [&](Floats x, Floats dy, Codes) {
    norm.FindGradientStatistics(x, dy, statistics, of_gradient, absl::MakeSpan(of_channels[6]),
                                absl::MakeSpan(of_channels[7]));
  });
  show(12, [&](Floats x, Floats dy, Codes) { norm.Backward(x, dy, statistics, of_gradient, dy); });
  std::printf("\n");
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  std::printf(
      "images                          copy statistics          y      codes"
      " statistics         dx\n");
  using fixpoint::kernels::Measure;
  Measure(32, 48, 32);
  Measure(32, 48, 64);
  Measure(32, 24, 128);
  Measure(32, 12, 256);
  Measure(32, 6, 512);
  Measure(32, 3, 1024);
  Measure(128, 32, 16);
  Measure(128, 16, 32);
  Measure(128, 8, 64);
  return 0;
}
