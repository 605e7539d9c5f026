// Where the elements of padded and sliced tensors come from, along one axis.

#ifndef FIXPOINT_OPS_ELEMENT_PLACES_H_
#define FIXPOINT_OPS_ELEMENT_PLACES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"

namespace fixpoint {

// Which ops an attribute `paddings` belongs to.
enum class PadForm {
  kEachAxis,  // pad: before and after axis 0, before and after axis 1, ...
  kImage,     // pad2d: top, bottom, left, right of 4 dimensions
  kVolume,    // pad3d: left, right, top, bottom, front, back of 5 dimensions
};
enum class PadMode { kConstant, kReflect, kEdge, kCircular };

// "constant", "reflect", "edge" or "replicate", "circular". Error (kInvalidArgument): another.
absl::StatusOr<PadMode> PadModeOf(absl::string_view mode);

struct PaddedAxis {
  int64_t before = 0;
  int64_t after = 0;
};
// The paddings of each axis of a tensor of that rank. Errors (kInvalidArgument): the rank or the
// number of paddings is not that of the form,
// or one is more than 2^31 - 1 elements.
absl::StatusOr<std::vector<PaddedAxis>> PaddedAxes(PadForm form, int rank, bool is_channels_last,
                                                   const std::vector<int64_t>& paddings);

// The size of a padded axis; kUnknownDim of one that is not known. A negative padding takes
// elements away. Errors (kInvalidArgument): nothing is left, or the size is more than an int64
// holds; kReflect would mirror more elements than there are.
absl::StatusOr<int64_t> PaddedSize(int64_t size, const PaddedAxis& axis, PadMode mode);

// The place of element i of a padded axis; -1: it is padding. REQUIRES: PaddedSize.
int64_t PaddedPlace(int64_t i, int64_t size, const PaddedAxis& axis, PadMode mode);

// Elements start, start + step, ... of an axis: `size` of them.
struct SlicedAxis {
  int64_t start = 0;
  int64_t step = 1;
  int64_t size = 0;
};
// As strided_slice counts them: negative places count from the end, but an end of -1 with a
// negative step means that the slice reaches the first element. Error (kInvalidArgument): the step
// is 0, or no element is left.
absl::StatusOr<SlicedAxis> StridedSliceOf(int64_t size, int64_t start, int64_t end, int64_t step);
// As Python does; the slice may be empty. Error (kInvalidArgument): the step is 0.
absl::StatusOr<SlicedAxis> PythonSliceOf(int64_t size, int64_t start, int64_t end, int64_t step);

// The dims of a slice without the axes that an attribute decrease_axis names. Error
// (kInvalidArgument): one of them is no axis, or is longer than 1.
absl::StatusOr<Dims> DecreasedDims(DimsView dims, const std::vector<int64_t>& decrease_axis);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ELEMENT_PLACES_H_
