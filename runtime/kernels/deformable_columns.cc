#include "runtime/kernels/deformable_columns.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// A place between four elements of a plane, some of which may be beside it.
struct Between {
  int64_t top;
  int64_t left;
  float down;   // from the upper elements, 0 to 1
  float right;  // from the left ones
  bool is_near;
};

// One tap in all places of an image.
class MovedTap {
 public:
  MovedTap(const DeformableShape& shape, const DeformableImage& image, int64_t offset_group,
           int64_t tap)
      : shape_(shape), tap_(tap) {
    const int64_t of_tap = offset_group * shape.taps() + tap;
    rows_ = image.offset.data() + of_tap * 2 * shape.places();
    columns_ = rows_ + shape.places();
    mask_ = image.mask.empty() ? nullptr : image.mask.data() + of_tap * shape.places();
  }

  Between At(int64_t place) const {
    const float row = static_cast<float>(shape_.Row(place / shape_.out_width, tap_)) + rows_[place];
    const float column =
        static_cast<float>(shape_.Column(place % shape_.out_width, tap_)) + columns_[place];
    const bool is_near = row > -1 && row < static_cast<float>(shape_.height) && column > -1 &&
                         column < static_cast<float>(shape_.width);
    if (!is_near) return {0, 0, 0, 0, false};
    const float top = std::floor(row);
    const float left = std::floor(column);
    return {static_cast<int64_t>(top), static_cast<int64_t>(left), row - top, column - left, true};
  }

  float Mask(int64_t place) const { return mask_ != nullptr ? mask_[place] : 1.0f; }

 private:
  const DeformableShape& shape_;
  const int64_t tap_;
  const float* rows_;
  const float* columns_;
  const float* mask_;
};

// Calls f(index, weight, by_row, by_column) with the elements of a plane around a place.
template <typename F>
inline void ForEachCorner(const DeformableShape& shape, const Between& at, F f) {
  if (!at.is_near) return;
  for (int i = 0; i < 2; ++i) {
    const int64_t y = at.top + i;
    if (y < 0 || y >= shape.height) continue;
    const float of_row = i == 0 ? 1 - at.down : at.down;
    for (int j = 0; j < 2; ++j) {
      const int64_t x = at.left + j;
      if (x < 0 || x >= shape.width) continue;
      const float of_column = j == 0 ? 1 - at.right : at.right;
      f(y * shape.width + x, of_row * of_column, i == 0 ? -of_column : of_column,
        j == 0 ? -of_row : of_row);
    }
  }
}

constexpr int64_t kBytesOfPlace = 40;

}  // namespace

void GatherDeformed(const DeformableShape& shape, const DeformableImage& image,
                    absl::Span<float> columns) {
  const int64_t rows = shape.channels * shape.taps();
  ParallelFor(
      rows, shape.places() * kBytesOfPlace,
      [&shape, &image, to = columns.data()](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i / shape.taps();
          const MovedTap tap(shape, image, c / shape.channels_of_offsets(), i % shape.taps());
          const float* const plane = image.x.data() + c * shape.height * shape.width;
          for (int64_t place = 0; place < shape.places(); ++place) {
            float sum = 0;
            ForEachCorner(shape, tap.At(place), [&](int64_t index, float weight, float, float) {
              sum += weight * plane[index];
            });
            to[i * shape.places() + place] = sum * tap.Mask(place);
          }
        }
      });
}

void GatherDeformedBackwardX(const DeformableShape& shape, const DeformableImage& image,
                             absl::Span<const float> dcolumns, absl::Span<float> dx) {
  ParallelFor(shape.channels, shape.taps() * shape.places() * kBytesOfPlace,
              [&shape, &image, from = dcolumns.data(), dx = dx.data()](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  float* const plane = dx + c * shape.height * shape.width;
                  std::fill(plane, plane + shape.height * shape.width, 0.0f);
                  for (int64_t t = 0; t < shape.taps(); ++t) {
                    const MovedTap tap(shape, image, c / shape.channels_of_offsets(), t);
                    const float* const row = from + (c * shape.taps() + t) * shape.places();
                    for (int64_t place = 0; place < shape.places(); ++place) {
                      const float d = row[place] * tap.Mask(place);
                      ForEachCorner(shape, tap.At(place),
                                    [&](int64_t index, float weight, float, float) {
                                      plane[index] += weight * d;
                                    });
                    }
                  }
                }
              });
}

void GatherDeformedBackwardOffset(const DeformableShape& shape, const DeformableImage& image,
                                  absl::Span<const float> dcolumns, absl::Span<float> doffset,
                                  absl::Span<float> dmask) {
  ParallelFor(shape.offset_groups * shape.taps(),
              shape.channels_of_offsets() * shape.places() * kBytesOfPlace,
              [&shape, &image, from = dcolumns.data(), doffset = doffset.data(),
               dmask = dmask.empty() ? nullptr : dmask.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t group = i / shape.taps();
                  const int64_t t = i % shape.taps();
                  const MovedTap tap(shape, image, group, t);
                  for (int64_t place = 0; place < shape.places(); ++place) {
                    const Between at = tap.At(place);
                    float by_row_sum = 0;
                    float by_column_sum = 0;
                    float sum = 0;
                    for (int64_t k = 0; k < shape.channels_of_offsets(); ++k) {
                      const int64_t c = group * shape.channels_of_offsets() + k;
                      const float* const plane = image.x.data() + c * shape.height * shape.width;
                      const float d = from[(c * shape.taps() + t) * shape.places() + place];
                      ForEachCorner(
                          shape, at,
                          [&](int64_t index, float weight, float by_row, float by_column) {
                            const float value = plane[index] * d;
                            sum += weight * value;
                            by_row_sum += by_row * value;
                            by_column_sum += by_column * value;
                          });
                    }
                    doffset[i * 2 * shape.places() + place] = by_row_sum * tap.Mask(place);
                    doffset[(i * 2 + 1) * shape.places() + place] = by_column_sum * tap.Mask(place);
                    if (dmask != nullptr) dmask[i * shape.places() + place] = sum;
                  }
                }
              });
}

}  // namespace fixpoint::kernels
