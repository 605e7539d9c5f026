// What the taps of a deformable convolution read, as the columns of a matrix.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEFORMABLE_COLUMNS_H_
#define FIXPOINT_RUNTIME_KERNELS_DEFORMABLE_COLUMNS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/deformable_shape.h"

namespace fixpoint::kernels {

// One image of the inputs. No mask: 1 everywhere.
struct DeformableImage {
  absl::Span<const float> x;
  absl::Span<const float> offset;
  absl::Span<const float> mask;
};

// columns [channels * taps, places]: between the elements of x where the offsets move each tap,
// times the mask; 0 beside x. REQUIRES, here and below: the sizes are the shape's.
void GatherDeformed(const DeformableShape& shape, const DeformableImage& image,
                    absl::Span<float> columns);

// The gradients of x; and those of the offsets and, if it is not empty, of the mask.
void GatherDeformedBackwardX(const DeformableShape& shape, const DeformableImage& image,
                             absl::Span<const float> dcolumns, absl::Span<float> dx);
void GatherDeformedBackwardOffset(const DeformableShape& shape, const DeformableImage& image,
                                  absl::Span<const float> dcolumns, absl::Span<float> doffset,
                                  absl::Span<float> dmask);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEFORMABLE_COLUMNS_H_
