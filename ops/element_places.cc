#include "ops/element_places.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {
namespace {

// Elements of [begin, end) in steps of `step`, which is positive; 0 where the range is empty.
int64_t StepsIn(int64_t begin, int64_t end, int64_t step) {
  return end > begin ? (end - begin - 1) / step + 1 : 0;
}

// The slice from `start` towards, and without, `end`, which may be -1 with a negative step.
SlicedAxis SliceBetween(int64_t start, int64_t end, int64_t step) {
  if (step > 0) return {start, step, StepsIn(start, end, step)};
  // Negating the least int64 is not defined; such a step takes one element, as any large one does.
  const int64_t back = -std::max(step, std::numeric_limits<int64_t>::min() + 1);
  return {start, -back, StepsIn(end, start, back)};
}

absl::Status CheckStep(int64_t step) {
  if (step != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("a step is 0; want another number");
}

// Counted from the end if it is negative; what an int64 does not hold is far outside.
int64_t FromFront(int64_t place, int64_t size) { return place < 0 ? place + size : place; }

}  // namespace

absl::StatusOr<PadMode> PadModeOf(absl::string_view mode) {
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge" || mode == "replicate") return PadMode::kEdge;
  if (mode == "circular") return PadMode::kCircular;
  return absl::InvalidArgumentError(
      absl::StrCat("mode is \"", mode, "\"; want constant, reflect, edge, replicate or circular"));
}

absl::StatusOr<std::vector<PaddedAxis>> PaddedAxes(PadForm form, int rank, bool is_channels_last,
                                                   const std::vector<int64_t>& paddings) {
  const int wanted_rank = form == PadForm::kImage ? 4 : form == PadForm::kVolume ? 5 : rank;
  if (rank != wanted_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has ", rank, " dimensions; want ", wanted_rank));
  }
  const int axes = form == PadForm::kEachAxis ? rank : rank - 2;
  if (paddings.size() != static_cast<size_t>(2 * axes)) {
    return absl::InvalidArgumentError(absl::StrCat("paddings is [", absl::StrJoin(paddings, ", "),
                                                   "]; want ", 2 * axes, " values"));
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const int64_t padding : paddings) {
    if (padding >= -kMost && padding <= kMost) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("paddings has ", padding, "; want -(2^31 - 1) to 2^31 - 1"));
  }
  const int first = form == PadForm::kEachAxis ? 0 : is_channels_last ? 1 : 2;
  std::vector<PaddedAxis> padded(rank);
  for (int i = 0; i < axes; ++i) {
    // A volume lists its paddings from the last axis on.
    const int at = form == PadForm::kVolume ? axes - 1 - i : i;
    padded[first + at] = {paddings[2 * i], paddings[2 * i + 1]};
  }
  return padded;
}

absl::StatusOr<int64_t> PaddedSize(int64_t size, const PaddedAxis& axis, PadMode mode) {
  if (size < 0) return kUnknownDim;
  int64_t padded = 0;
  const bool is_too_large = __builtin_add_overflow(axis.before, axis.after, &padded) ||
                            __builtin_add_overflow(padded, size, &padded);
  if (is_too_large || padded < 1) {
    return absl::InvalidArgumentError(absl::StrCat("paddings ", axis.before, " and ", axis.after,
                                                   " of an axis of ", size,
                                                   " leave no size; want one of 1 to 2^63 - 1"));
  }
  const int64_t most = std::max(axis.before, axis.after);
  if ((mode == PadMode::kReflect && most >= size) || (mode != PadMode::kConstant && size == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings ", axis.before, " and ", axis.after, " of an axis of ", size,
                     mode == PadMode::kReflect ? " mirror more than it has; want less than its size"
                                               : " repeat none; want elements"));
  }
  return padded;
}

int64_t PaddedPlace(int64_t i, int64_t size, const PaddedAxis& axis, PadMode mode) {
  const int64_t place = i - axis.before;
  switch (mode) {
    case PadMode::kConstant:
      return place >= 0 && place < size ? place : -1;
    case PadMode::kReflect:
      return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
    case PadMode::kEdge:
      return std::clamp<int64_t>(place, 0, size - 1);
    case PadMode::kCircular:
      return (place % size + size) % size;
  }
  return -1;
}

absl::StatusOr<SlicedAxis> StridedSliceOf(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (const absl::Status status = CheckStep(step); !status.ok()) return status;
  const bool reaches_first = end == -1 && step < 0;
  const int64_t last = std::max<int64_t>(size - 1, 0);
  const int64_t first = std::clamp<int64_t>(FromFront(start, size), 0, step > 0 ? size : last);
  const int64_t beyond = reaches_first ? -1 : std::clamp<int64_t>(FromFront(end, size), 0, size);
  const SlicedAxis slice = SliceBetween(first, beyond, step);
  if (slice.size > 0 && size > 0) return slice;
  return absl::InvalidArgumentError(absl::StrCat("the slice from ", start, " to ", end,
                                                 " in steps of ", step, " of an axis of ", size,
                                                 " is empty; want elements"));
}

absl::StatusOr<SlicedAxis> PythonSliceOf(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (const absl::Status status = CheckStep(step); !status.ok()) return status;
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t most = step > 0 ? size : size - 1;
  return SliceBetween(std::clamp(FromFront(start, size), least, most),
                      std::clamp(FromFront(end, size), least, most), step);
}

absl::StatusOr<Dims> DecreasedDims(DimsView dims, const std::vector<int64_t>& decrease_axis) {
  std::vector<bool> is_dropped(dims.size(), false);
  for (const int64_t named : decrease_axis) {
    const absl::StatusOr<int> axis = NormalizeAxis(named, static_cast<int>(dims.size()));
    if (!axis.ok()) return axis.status();
    if (!MayBeEqual(dims[*axis], 1)) {
      return absl::InvalidArgumentError(absl::StrCat("decrease_axis names axis ", *axis, " of ",
                                                     DimsText(dims), "; want one of size 1"));
    }
    is_dropped[*axis] = true;
  }
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!is_dropped[i]) kept.push_back(dims[i]);
  }
  return kept;
}

}  // namespace fixpoint
