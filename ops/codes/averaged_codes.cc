#include "ops/codes/averaged_codes.h"

#include <algorithm>
#include <vector>

#include "ops/sums_of_codes.h"

namespace fixpoint {
namespace {

// No window has more elements along an axis of that size.
int64_t LargestWindow(const OpAttributes& pooling, int axis, int64_t size) {
  if (pooling.Bool("global_pooling")) return size;
  const std::vector<int64_t> ksize = pooling.Ints("ksize");
  if (ksize.size() != 2 || ksize[axis] < 1) return size;
  // A window of an adaptive pooling begins and ends within an element.
  return std::min(size, pooling.Bool("adaptive") ? size / ksize[axis] + 2 : ksize[axis]);
}

}  // namespace

bool SumsOfWindowsFit(const OpAttributes& pooling, const std::array<int64_t, 2>& image) {
  if (image[0] < 1 || image[1] < 1) return true;
  const int64_t height = LargestWindow(pooling, 0, image[0]);
  const int64_t width = LargestWindow(pooling, 1, image[1]);
  return SumsFit(width, kLargestUnsigned) && SumsFit(height, width * kLargestUnsigned);
}

}  // namespace fixpoint
