// Averages of regions (runtime/boxes/regions.h), on the threads that kernels run on.

#ifndef FIXPOINT_RUNTIME_KERNELS_ALIGNED_REGIONS_H_
#define FIXPOINT_RUNTIME_KERNELS_ALIGNED_REGIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/boxes/regions.h"

namespace fixpoint::kernels {

// pooled [regions, ...], of the corners of each region and the number of its image in x.
void AlignRegions(const boxes::RegionPooling& pooling, absl::Span<const float> x,
                  absl::Span<const int64_t> images, absl::Span<const float> corners,
                  absl::Span<float> pooled);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ALIGNED_REGIONS_H_
