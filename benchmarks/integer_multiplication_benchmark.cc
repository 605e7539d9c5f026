// What a product of codes, element by element, costs beside one of floats of the same shape, beside
// one of floats whose result is fake-quantized, as training computes it, and beside copying as much
// memory as it reads and writes, in one run and on one thread:
//
//   ./bazelw run --config=opt //benchmarks:integer_multiplication_benchmark
//
// Results per second, in units of 1e9, and how many times as fast as those of floats they come:
// float to float, float to fake-quantized float in a second pass, codes to codes, codes to floats.
// The last column is the share of a copy's speed that codes to codes reach, by their bytes.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/integer_elementwise.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

int64_t SizeOf(const Dims& dims) { return *ElementCount(dims); }

double CopySpeed(size_t bytes) {
  std::vector<char> from(bytes / 2, 1);
  std::vector<char> to(bytes / 2);
  return MemorySpeed(bytes, [&] { std::memcpy(to.data(), from.data(), to.size()); });
}

template <typename Element>
std::vector<Element> Filled(int64_t size) {
  std::vector<Element> elements(size);
  for (int64_t i = 0; i < size; ++i) elements[i] = static_cast<Element>(i * 7919 % 251);
  return elements;
}

// Results per second, of a run that gives so many and has moved so many bytes.
double Rate(size_t results, size_t bytes, double speed) {
  return speed / static_cast<double>(bytes) * static_cast<double>(results);
}

struct FloatRates {
  double product;
  double fake_quantized;
};

FloatRates OfFloats(const ElementwiseShape& shape) {
  auto planned = Elementwise::Plan(Arithmetic::kMul, shape);
  CHECK(planned.ok()) << planned.status();
  const auto x = Filled<float>(SizeOf(shape.x));
  const auto y = Filled<float>(SizeOf(shape.y));
  std::vector<float> out(SizeOf(shape.x));
  const auto multiply = [&] { (*planned)->Run(x, y, absl::MakeSpan(out)); };
  const std::vector<float> range = {65025};
  const Channels one = {1, 1, SizeOf(shape.x)};
  const CodeRange codes = SymmetricCodes(8, QuantSpec::HALF_TO_EVEN);
  const size_t bytes = (x.size() + y.size() + out.size()) * sizeof(float);
  const double product = MemorySpeed(bytes, multiply);
  const double fake_quantized = MemorySpeed(bytes, [&] {
    multiply();
    QuantizeDequantize(out, range, one, codes, absl::MakeSpan(out));
  });
  return {Rate(out.size(), bytes, product), Rate(out.size(), bytes, fake_quantized)};
}

// Stored as codes or as floats.
template <typename Stored>
double OfCodes(const ElementwiseShape& shape) {
  constexpr bool kAreCodes = sizeof(Stored) == 1;
  const Epilogue epilogue =
      kAreCodes ? Epilogue{{EpilogueStage::Kind::kMultiply, 100.0f}} : Epilogue{};
  auto planned = IntegerMultiplication::Plan(shape, CodeType::kUint8, CodeType::kUint8, epilogue,
                                             kAreCodes ? OutputType::kUint8 : OutputType::kFloat);
  CHECK(planned.ok()) << planned.status();
  const auto x = Filled<uint8_t>(SizeOf(shape.x));
  const auto y = Filled<uint8_t>(SizeOf(shape.y));
  std::vector<Stored> out(SizeOf(shape.x));
  const std::vector<absl::Span<const float>> operands(epilogue.size());
  const size_t bytes = x.size() + y.size() + out.size() * sizeof(Stored);
  const double speed = MemorySpeed(bytes, [&] {
    (*planned)->Run({x, 0}, {y, 0}, 1.0f / 65025, operands, absl::MakeSpan(out));
  });
  return Rate(out.size(), bytes, speed);
}

void Measure(const char* what, const ElementwiseShape& shape) {
  const FloatRates floats = OfFloats(shape);
  const double codes = OfCodes<uint8_t>(shape);
  const double to_floats = OfCodes<float>(shape);
  const size_t results = SizeOf(shape.x);
  const size_t bytes = 2 * results + SizeOf(shape.y);
  const double copied = Rate(results, bytes, CopySpeed(bytes));
  std::printf("  %-22s %6.2f  %6.2f %5.2f  %6.2f %5.2f  %6.2f %5.2f  %5.2f\n", what, floats.product,
              floats.fake_quantized, floats.fake_quantized / floats.product, codes,
              codes / floats.product, to_floats, to_floats / floats.product, codes / copied);
}

void Run() {
  UseThreads(1);
  std::printf("  %-22s %6s  %12s  %12s  %12s  %5s\n", "", "float", "fake-quant.", "codes",
              "to float", "copy");
  Measure("gate of 8x28x28x72", {{8, 28, 28, 72}, {8, 1, 1, 72}});
  Measure("gate of 8x14x14x240", {{8, 14, 14, 240}, {8, 1, 1, 240}});
  Measure("gate of 8x7x7x960", {{8, 7, 7, 960}, {8, 1, 1, 960}});
  Measure("gate of 1x56x56x16", {{1, 56, 56, 16}, {1, 1, 1, 16}});
  Measure("8x28x28x72 twice", {{8, 28, 28, 72}, {8, 28, 28, 72}});
  Measure("2^24 twice", {{int64_t{1} << 24}, {int64_t{1} << 24}});
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  fixpoint::kernels::Run();
  return 0;
}
