#include "ops/quantizers/formula_groups.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace fixpoint {
namespace {

int64_t SizeOfGroups(int64_t inputs, int64_t group_size) {
  int64_t size = std::min(inputs, group_size);
  while (size > 1 && inputs % size != 0) --size;
  return std::max<int64_t>(size, 1);
}

}  // namespace

std::vector<int32_t> GroupedWeight::OtherAxes() const {
  std::vector<int32_t> axes;
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
    if (axis != channel_axis) axes.push_back(axis);
  }
  return axes;
}

GroupedWeight SplitIntoGroups(DimsView dims, int channel_axis, int64_t group_size) {
  const auto channels = dims.begin() + channel_axis;
  const int64_t before =
      std::accumulate(dims.begin(), channels, int64_t{1}, std::multiplies<int64_t>());
  const int64_t after =
      std::accumulate(channels + 1, dims.end(), int64_t{1}, std::multiplies<int64_t>());
  if (channels + 1 == dims.end()) {
    const int64_t size = SizeOfGroups(before, group_size);
    return {{before / size, size, *channels}, 2, 1};
  }
  const int64_t size = SizeOfGroups(after, group_size);
  return {{before, *channels, after / size, size}, 1, 3};
}

}  // namespace fixpoint
