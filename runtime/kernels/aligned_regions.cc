#include "runtime/kernels/aligned_regions.h"

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

void AlignRegions(const boxes::RegionPooling& pooling, absl::Span<const float> x,
                  absl::Span<const int64_t> images, absl::Span<const float> corners,
                  absl::Span<float> pooled) {
  constexpr int64_t kBytesOfElement = 64;  // of four samples
  ParallelFor(static_cast<int64_t>(images.size()), pooling.pooled_size() * kBytesOfElement,
              [&pooling, x, images, corners, pooled](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  boxes::AlignRegion<float>(
                      pooling, x.subspan(images[i] * pooling.image_size(), pooling.image_size()),
                      corners.data() + i * 4,
                      pooled.subspan(i * pooling.pooled_size(), pooling.pooled_size()));
                }
              });
}

}  // namespace fixpoint::kernels
