// How formulas split a weight into groups of inputs.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_GROUPS_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_GROUPS_H_

#include <cstdint>
#include <vector>

#include "ops/dims.h"

namespace fixpoint {

// The words of a text that split a weight and join it again. The first needs the setting
// `group_size`.
inline constexpr char kSplitGroups[] = "split_groups";
inline constexpr char kJoinGroups[] = "join_groups";
inline constexpr char kGroupSize[] = "group_size";

// A weight with an axis whose elements are those of a group: every input of a product that leads to
// one output channel is in one group, and neighbours share one.
struct GroupedWeight {
  Dims dims;
  int channel_axis = 0;
  int element_axis = 0;

  // All axes but that of the channels.
  std::vector<int32_t> OtherAxes() const;
};

// The groups lie along the axes after that of the channels, row major, or before it where it is the
// last. All have one size: the largest divisor of their extent that is at most `group_size`.
// REQUIRES: 0 <= channel_axis < dims.size(), all extents are known, group_size >= 1.
GroupedWeight SplitIntoGroups(DimsView dims, int channel_axis, int64_t group_size);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_GROUPS_H_
