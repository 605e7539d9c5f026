// What copying into another order costs beside copying in the same, in one run and on one thread:
//
//   ./bazelw run --config=opt //benchmarks:strided_copy_benchmark
//
// Gigabytes per second, read and written.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "ops/dims.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::kernels {
namespace {

void Measure(const char* what, const Dims& x, const Dims& permutation) {
  Dims dims;
  int64_t size = 1;
  for (const int64_t axis : permutation) {
    dims.push_back(x[axis]);
    size *= x[axis];
  }
  const auto planned =
      StridedCopy::Plan(dims, TransposedLayout(x, permutation), RowMajorLayout(dims));
  CHECK(planned.ok()) << planned.status();
  const std::vector<float> from(size, 1.0f);
  std::vector<float> to(size);
  const size_t bytes = 2 * size * sizeof(float);
  const double speed =
      MemorySpeed(bytes, [&] { (*planned)->Run(absl::MakeConstSpan(from), absl::MakeSpan(to)); });
  const double copy = MemorySpeed(bytes, [&] { std::memcpy(to.data(), from.data(), bytes / 2); });
  std::printf("  %-40s %7.1f %7.1f\n", what, speed, copy);
}

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  using fixpoint::kernels::Measure;
  std::printf("  %-40s %7s %7s\n", "", "", "copy");
  Measure("channels last, 64x3x32x32", {64, 3, 32, 32}, {0, 2, 3, 1});
  Measure("channels last, 16x64x56x56", {16, 64, 56, 56}, {0, 2, 3, 1});
  Measure("channels first, 16x64x56x56", {16, 56, 56, 64}, {0, 3, 1, 2});
  Measure("heads, 8x128x12x64", {8, 128, 12, 64}, {0, 2, 1, 3});
  Measure("matrix, 768x768", {768, 768}, {1, 0});
  return 0;
}
