// Poolings of every kind, and what is in their windows, in plain loops.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_POOLING_CASES_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_POOLING_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/window.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {

struct PoolingCase {
  std::string name;
  int64_t channels;
  int64_t height;
  int64_t width;
  Window window;
  bool ceil_mode = false;
  bool adaptive = false;
  int64_t out_height = 1;
  int64_t out_width = 1;
};
std::vector<PoolingCase> PoolingCases();

struct PoolingVariant {
  std::string name;
  PoolingType type;
  PoolingDivisor divisor;
};
// The kinds of averages; and those and the maximum.
std::vector<PoolingVariant> AverageVariants();
std::vector<PoolingVariant> PoolingVariants();

PoolingShape ShapeOf(const PoolingCase& c, const PoolingVariant& variant);

// One axis of one window, with the padding that counts.
struct PoolingRange {
  int64_t begin;
  int64_t end;
  int64_t divisor;
};
PoolingRange RangeOf(const PoolingShape& shape, int axis, int64_t i);

// Calls f(out, places in the window, divisor) for each element of the output.
template <typename F>
void ForEachWindow(const PoolingShape& shape, F f) {
  int64_t out = 0;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t y = 0; y < shape.out_height; ++y) {
      for (int64_t x = 0; x < shape.out_width; ++x) {
        const PoolingRange rows = RangeOf(shape, 0, y);
        const PoolingRange columns = RangeOf(shape, 1, x);
        for (int64_t c = 0; c < shape.channels; ++c, ++out) {
          std::vector<int64_t> places;
          for (int64_t i = rows.begin; i < rows.end; ++i) {
            for (int64_t j = columns.begin; j < columns.end; ++j) {
              places.push_back(((n * shape.height + i) * shape.width + j) * shape.channels + c);
            }
          }
          f(out, places, rows.divisor * columns.divisor);
        }
      }
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_POOLING_CASES_H_
