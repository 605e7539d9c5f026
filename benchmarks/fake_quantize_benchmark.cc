// What quantizing memory costs beside copying it, in one run and on one thread:
//
//   ./bazelw run --config=opt //benchmarks:fake_quantize_benchmark
//
// Gigabytes of memory per second, read and written, the best of the rounds; sizes that stay in the
// second and in the last cache, and one that stays in neither.

#include <glog/logging.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {
namespace {

void Measure(int64_t size) {
  std::vector<float> x(size);
  for (int64_t i = 0; i < size; ++i) x[i] = 0.5f + 0.5f * std::sin(static_cast<float>(i));
  std::vector<float> values(size);
  std::vector<uint8_t> codes(size);
  const Channels one = {1, 1, size};
  constexpr int64_t kChannels = 64;
  const Channels last = {size / kChannels, kChannels, 1};
  const std::vector<float> range = {1.0f};
  const std::vector<float> ranges(kChannels, 1.0f);
  std::vector<float> found(kChannels);
  const CodeRange even = SymmetricCodes(8, QuantSpec::HALF_TO_EVEN);
  const CodeRange away = SymmetricCodes(8, QuantSpec::HALF_AWAY_FROM_ZERO);
  const size_t floats = size * sizeof(float);
  const auto show = [](const char* what, double speed) {
    std::printf("  %-44s %7.1f\n", what, speed);
  };

  std::printf("%lld floats\n", static_cast<long long>(size));
  show("copy", MemorySpeed(2 * floats, [&] { std::memcpy(values.data(), x.data(), floats); }));
  show("abs-max",
       MemorySpeed(floats, [&] { FindRanges(x, one, absl::MakeSpan(found).subspan(0, 1)); }));
  show("abs-max, channels last",
       MemorySpeed(floats, [&] { FindRanges(x, last, absl::MakeSpan(found)); }));
  show("quantize and dequantize, half to even", MemorySpeed(2 * floats, [&] {
         QuantizeDequantize(x, range, one, even, absl::MakeSpan(values));
       }));
  show("quantize and dequantize, half away from zero", MemorySpeed(2 * floats, [&] {
         QuantizeDequantize(x, range, one, away, absl::MakeSpan(values));
       }));
  show("quantize and dequantize, in place", MemorySpeed(2 * floats, [&] {
         QuantizeDequantize(values, range, one, even, absl::MakeSpan(values));
       }));
  show("quantize and dequantize, channels last", MemorySpeed(2 * floats, [&] {
         QuantizeDequantize(x, ranges, last, even, absl::MakeSpan(values));
       }));
  show("codes and values, in place", MemorySpeed(2 * floats + size, [&] {
         QuantizeDequantize(values, range, one, even, absl::MakeSpan(values),
                            absl::MakeSpan(codes));
       }));
  show("codes",
       MemorySpeed(floats + size, [&] { Quantize(x, range, one, even, absl::MakeSpan(codes)); }));
  show("values of codes", MemorySpeed(floats + size, [&] {
         Dequantize(codes, range, one, 127, absl::MakeSpan(values));
       }));
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  for (const int64_t kibibytes : {256, 8192, 262144}) fixpoint::kernels::Measure(kibibytes * 256);
  return 0;
}
