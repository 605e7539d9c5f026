// Windows that slide over an image: convolution, transposed convolution, pooling.

#ifndef FIXPOINT_OPS_WINDOW_H_
#define FIXPOINT_OPS_WINDOW_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"

namespace fixpoint {

// One spatial axis of a window. Units: elements.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
};

// Height, width.
using Window = std::array<WindowAxis, 2>;

// The attributes of the same names.
struct WindowAttrs {
  std::vector<int64_t> strides;    // 2, positive
  std::vector<int64_t> paddings;   // [h, w] or [top, bottom, left, right]
  std::vector<int64_t> dilations;  // 2, positive
  // EXPLICIT; VALID: no padding; SAME: ceil(size / stride) windows, dilation 1.
  std::string padding_algorithm;
};

// `kernel` and `size` are [h, w], each -1 if unknown. Errors: attributes of a wrong length or
// range.
absl::StatusOr<Window> MakeWindow(const WindowAttrs& attrs, DimsView kernel, DimsView size);

// The number of windows that fit: (size + pads - extent) / stride + 1, rounded towards zero or,
// with ceil_mode, up. So the only window may stick out. Error: none fits.
absl::StatusOr<int64_t> WindowCount(int64_t size, const WindowAxis& axis, bool ceil_mode = false);

// The output size of a transposed convolution: (size - 1) * stride - pads + extent.
absl::StatusOr<int64_t> TransposedSize(int64_t size, const WindowAxis& axis);

// Whether a data_format or data_layout has its channels last ("NHWC").
inline bool IsChannelsLast(absl::string_view format) { return format == "NHWC"; }

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_WINDOW_H_
