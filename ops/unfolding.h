// The windows that unfold makes columns of.

#ifndef FIXPOINT_OPS_UNFOLDING_H_
#define FIXPOINT_OPS_UNFOLDING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// An axis of an image, and the places at which windows begin.
struct UnfoldedAxis {
  int64_t size = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t before = 0;  // the padding there
  int64_t dilation = 1;
  int64_t windows = 1;

  // Where tap `k` of a window is, or -1: beyond the image.
  int64_t PlaceOf(int64_t window, int64_t k) const {
    const int64_t place = window * stride - before + k * dilation;
    return place < size ? (place < 0 ? -1 : place) : -1;
  }
};

struct Unfolding {
  int64_t batch = 1;
  int64_t channels = 1;
  UnfoldedAxis rows;
  UnfoldedAxis columns;

  // Sizes may be unknown (kUnknownDim), which makes the windows unknown. Error (kInvalidArgument):
  // X is no [N,C,H,W]; an attribute has not two values, of paddings four, or some below 1, of
  // paddings below 0; a window is larger than the padded image.
  static absl::StatusOr<Unfolding> Of(DimsView x, const std::vector<int64_t>& kernel_sizes,
                                      const std::vector<int64_t>& strides,
                                      const std::vector<int64_t>& paddings,
                                      const std::vector<int64_t>& dilations);

  // How images are unfolded whose height and width are output_sizes, two values, and whose columns
  // are [N, C * kernel, windows]. Errors: also kInvalidArgument: other columns than such images
  // have.
  static absl::StatusOr<Unfolding> OfColumns(DimsView columns,
                                             const std::vector<int64_t>& output_sizes,
                                             const std::vector<int64_t>& kernel_sizes,
                                             const std::vector<int64_t>& strides,
                                             const std::vector<int64_t>& paddings,
                                             const std::vector<int64_t>& dilations);

  // [N, C, H, W].
  Dims ImageDims() const { return {batch, channels, rows.size, columns.size}; }
  // [N, C * kernel, windows]. Error (kInvalidArgument): more elements than an int64 holds.
  absl::StatusOr<Dims> OutDims() const;

  // Calls f(x, y) with the places of each element of the image and of each column that is it, in
  // the order of y. REQUIRES: all sizes are known.
  template <typename F>
  void ForEachTap(F f) const {
    const int64_t row_of_y = rows.windows * columns.windows;
    int64_t y = 0;
    for (int64_t image = 0; image < batch * channels; ++image) {
      const int64_t begin = image * rows.size * columns.size;
      for (int64_t i = 0; i < rows.kernel; ++i) {
        for (int64_t j = 0; j < columns.kernel; ++j, y += row_of_y) {
          for (int64_t r = 0; r < rows.windows; ++r) {
            const int64_t row = rows.PlaceOf(r, i);
            if (row < 0) continue;
            for (int64_t c = 0; c < columns.windows; ++c) {
              const int64_t column = columns.PlaceOf(c, j);
              if (column < 0) continue;
              f(begin + row * columns.size + column, y + r * columns.windows + c);
            }
          }
        }
      }
    }
  }
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_UNFOLDING_H_
