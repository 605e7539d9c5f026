#include "runtime/kernels/pooling_axes.h"

#include <algorithm>
#include <utility>

namespace fixpoint::kernels {
namespace {

std::vector<PoolingPart> WindowParts(int64_t size, int64_t count, const WindowAxis& window,
                                     PoolingDivisor divisor) {
  std::vector<PoolingPart> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = i * window.stride - window.pad_before;
    const int64_t end = start + window.kernel;
    const int64_t begin_in_image = std::clamp<int64_t>(start, 0, size);
    const int64_t end_in_image = std::clamp<int64_t>(end, 0, size);
    int64_t count_of = window.kernel;
    if (divisor == PoolingDivisor::kImage) count_of = end_in_image - begin_in_image;
    if (divisor == PoolingDivisor::kPaddedImage) {
      count_of = std::min(end, size + window.pad_after) - start;
    }
    parts.push_back({begin_in_image, end_in_image, count_of, 1.0 / static_cast<double>(count_of)});
  }
  return parts;
}

std::vector<PoolingPart> AdaptiveParts(int64_t size, int64_t count) {
  std::vector<PoolingPart> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * size / count;
    const int64_t end = ((i + 1) * size + count - 1) / count;
    parts.push_back({begin, end, end - begin, 1.0 / static_cast<double>(end - begin)});
  }
  return parts;
}

// The parts' begins and ends ascend.
PoolingAxis AxisOf(std::vector<PoolingPart> parts, int64_t size) {
  std::vector<PoolingTakers> takers;
  PoolingTakers at = {0, 0};
  const int64_t count = static_cast<int64_t>(parts.size());
  for (int64_t i = 0; i < size; ++i) {
    while (at.begin < count && parts[at.begin].end <= i) ++at.begin;
    while (at.end < count && parts[at.end].begin <= i) ++at.end;
    takers.push_back({at.begin, std::max(at.begin, at.end)});
  }
  return {std::move(parts), std::move(takers)};
}

}  // namespace

PoolingAxes AxesOf(const PoolingShape& shape) {
  const std::array<int64_t, 2> sizes = {shape.height, shape.width};
  const std::array<int64_t, 2> counts = {shape.out_height, shape.out_width};
  PoolingAxes axes;
  for (int i = 0; i < 2; ++i) {
    axes[i] =
        AxisOf(shape.adaptive ? AdaptiveParts(sizes[i], counts[i])
                              : WindowParts(sizes[i], counts[i], shape.window[i], shape.divisor),
               sizes[i]);
  }
  return axes;
}

bool IsPartition(const PoolingAxes& axes) {
  for (const PoolingAxis& axis : axes) {
    for (const PoolingTakers& takers : axis.takers) {
      if (takers.end - takers.begin != 1) return false;
    }
  }
  return true;
}

int64_t LargestPart(const PoolingAxis& axis) {
  int64_t largest = 0;
  for (const PoolingPart& part : axis.parts) largest = std::max(largest, part.size());
  return largest;
}

}  // namespace fixpoint::kernels
