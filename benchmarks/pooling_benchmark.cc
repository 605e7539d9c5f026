// What pooling costs beside copying as much memory as it reads and writes, in one run and on one
// thread:
//
//   ./bazelw run --config=opt //benchmarks:pooling_benchmark
//
// Gigabytes per second, and those of the copy.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_pooling.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/pooling.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {
namespace {

PoolingShape Square(int64_t batch, int64_t channels, int64_t size) {
  PoolingShape shape;
  shape.batch = batch;
  shape.channels = channels;
  shape.height = shape.width = size;
  return shape;
}

PoolingShape Windows(PoolingShape shape, const WindowAxis& axis) {
  shape.window = {axis, axis};
  CHECK(CompleteShape(&shape).ok());
  return shape;
}

PoolingShape Global(PoolingShape shape) {
  shape.type = PoolingType::kAverage;
  shape.adaptive = true;
  return shape;
}

double CopySpeed(size_t bytes) {
  std::vector<char> from(bytes / 2, 1);
  std::vector<char> to(bytes / 2);
  return MemorySpeed(bytes, [&] { std::memcpy(to.data(), from.data(), to.size()); });
}

void Measure(const char* what, const PoolingShape& shape) {
  const auto planned = Pooling::Plan(shape);
  CHECK(planned.ok()) << planned.status();
  const Pooling& pooling = **planned;
  std::vector<float> x(shape.input_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1009);
  std::vector<float> y(shape.output_size());
  std::vector<int32_t> mask(pooling.mask_size());
  const size_t bytes = (x.size() + y.size() + mask.size()) * sizeof(float);
  const double forward =
      MemorySpeed(bytes, [&] { pooling.Forward(x, absl::MakeSpan(y), absl::MakeSpan(mask)); });
  const double backward = MemorySpeed(bytes, [&] { pooling.Backward(y, mask, absl::MakeSpan(x)); });
  std::printf("  %-34s %8.1f %9.1f %6.1f\n", what, forward, backward, CopySpeed(bytes));
}

// Averages of codes, stored as codes.
void MeasureCodes(const char* what, const PoolingShape& shape) {
  const Epilogue epilogue = {{EpilogueStage::Kind::kMultiply, 100.0f}};
  const auto planned = IntegerPooling::Plan(shape, CodeType::kUint8, epilogue, OutputType::kUint8);
  CHECK(planned.ok()) << planned.status();
  std::vector<uint8_t> x(shape.input_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7919 % 251);
  std::vector<uint8_t> y(shape.output_size());
  const absl::Span<const float> operands[] = {{}};
  const size_t bytes = x.size() + y.size();
  const double forward = MemorySpeed(bytes, [&] {
    (*planned)->Run(x, /*zero_point=*/0, 2.0f / 255, operands, absl::MakeSpan(y));
  });
  std::printf("  %-34s %8.1f %9s %6.1f\n", what, forward, "", CopySpeed(bytes));
}

void Run() {
  const WindowAxis two = {2, 2, 1, 0, 0};
  std::printf("  %-34s %8s %9s %6s\n", "", "forward", "backward", "copy");
  Measure("LeNet-5, max 2x2 of 64x24x24x6", Windows(Square(64, 6, 24), two));
  Measure("LeNet-5, max 2x2 of 64x8x8x16", Windows(Square(64, 16, 8), two));
  Measure("max 2x2 of 32x32x32x64", Windows(Square(32, 64, 32), two));
  Measure("ResNet-50, max 3x3/2 of 8x112x112x64", Windows(Square(8, 64, 112), {3, 2, 1, 1, 1}));
  Measure("ResNet-20, global of 128x8x8x64", Global(Square(128, 64, 8)));
  Measure("ResNet-50, global of 32x7x7x2048", Global(Square(32, 2048, 7)));
  MeasureCodes("codes, global of 128x8x8x64", Global(Square(128, 64, 8)));
  MeasureCodes("codes, global of 32x7x7x2048", Global(Square(32, 2048, 7)));
  PoolingShape averages = Square(32, 64, 32);
  averages.type = PoolingType::kAverage;
  Measure("average 2x2 of 32x32x32x64", Windows(averages, two));
  MeasureCodes("codes, average 2x2 of 32x32x32x64", Windows(averages, two));
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  fixpoint::kernels::Run();
  return 0;
}
