// Images sampled between their elements, at the places of a grid.

#ifndef FIXPOINT_RUNTIME_KERNELS_GRID_SAMPLING_H_
#define FIXPOINT_RUNTIME_KERNELS_GRID_SAMPLING_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

enum class GridPadding { kZeros, kBorder, kReflection };

// x [images, channels, height, width], grid [images, samples, 2] with columns before rows, from -1
// to 1, and out [images, channels, samples].
struct GridSampling {
  int64_t images;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t samples;
  bool is_nearest = false;
  bool aligns_corners = true;
  GridPadding padding = GridPadding::kZeros;
};

// One sample: four elements of a plane and their weights. An element beside the image has the place
// -1.
struct SampleCorners {
  int32_t places[4];
  float weights[4];
  // What the weights become when the coordinates grow.
  float by_column[4];
  float by_row[4];
};

// REQUIRES, here and below: the sizes are the shape's, and a plane has less than 2^31 elements;
// corners [images * samples]. A coordinate that is not finite gives 0.
void FindCorners(const GridSampling& sampling, absl::Span<const float> grid,
                 absl::Span<SampleCorners> corners);
void SampleGrid(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                absl::Span<const float> x, absl::Span<float> out);
void SampleGridBackwardX(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                         absl::Span<const float> dout, absl::Span<float> dx);
void SampleGridBackwardGrid(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                            absl::Span<const float> x, absl::Span<const float> dout,
                            absl::Span<float> dgrid);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_GRID_SAMPLING_H_
