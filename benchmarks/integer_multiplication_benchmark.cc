// What a product of codes, element by element, costs beside one of floats of the same shape, and
// beside copying as much memory as it reads and writes, in one run and on one thread:
//
//   ./bazelw run --config=opt //benchmarks:integer_multiplication_benchmark
//
// Gigabytes per second, those of the copy, and how many times as fast as floats the codes are.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "ops/dims.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_elementwise.h"
#include "runtime/kernels/integer_sums.h"

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

// How many results a second gives, in units of 1e9, and how many bytes that takes.
struct Rate {
  double bytes;
  double results;
};

Rate OfFloats(const ElementwiseShape& shape) {
  auto planned = Elementwise::Plan(Arithmetic::kMul, shape);
  CHECK(planned.ok()) << planned.status();
  const auto x = Filled<float>(SizeOf(shape.x));
  const auto y = Filled<float>(SizeOf(shape.y));
  std::vector<float> out(SizeOf(shape.x));
  const size_t bytes = (x.size() + y.size() + out.size()) * sizeof(float);
  const double speed = MemorySpeed(bytes, [&] { (*planned)->Run(x, y, absl::MakeSpan(out)); });
  return {speed, speed / static_cast<double>(bytes) * static_cast<double>(out.size())};
}

// Stored as codes or as floats.
template <typename Stored>
Rate OfCodes(const ElementwiseShape& shape) {
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
  return {speed, speed / static_cast<double>(bytes) * static_cast<double>(out.size())};
}

void Measure(const char* what, const ElementwiseShape& shape) {
  const Rate floats = OfFloats(shape);
  const Rate codes = OfCodes<uint8_t>(shape);
  const Rate to_floats = OfCodes<float>(shape);
  const size_t bytes = 2 * SizeOf(shape.x) + SizeOf(shape.y);
  std::printf("  %-30s %7.1f %7.1f %6.1f %7.1f %9.2f %9.2f\n", what, floats.bytes, codes.bytes,
              CopySpeed(bytes), to_floats.bytes, codes.results / floats.results,
              to_floats.results / floats.results);
}

void Run() {
  std::printf("  %-30s %7s %7s %6s %7s %9s %9s\n", "", "floats", "codes", "copy", "to f32", "times",
              "times");
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
