// Windows that slide over images or volumes, of any number of spatial axes.

#ifndef FIXPOINT_OPS_WINDOW_AXES_H_
#define FIXPOINT_OPS_WINDOW_AXES_H_

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/window.h"

namespace fixpoint {

using WindowAxes = absl::InlinedVector<WindowAxis, 3>;

// MakeWindow for as many axes as `kernel` has: `size` and the strides and dilations of `attrs` have
// as many, the paddings too, or twice as many.
absl::StatusOr<WindowAxes> MakeWindowAxes(const WindowAttrs& attrs, DimsView kernel, DimsView size);

// Whether a data_format has its channels last, of images or of volumes.
inline bool AreChannelsLast(absl::string_view format) {
  return IsChannelsLast(format) || format == "NDHWC";
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_WINDOW_AXES_H_
