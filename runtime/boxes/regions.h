// Regions of images, pooled to maps of one size.

#ifndef FIXPOINT_RUNTIME_BOXES_REGIONS_H_
#define FIXPOINT_RUNTIME_BOXES_REGIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_form.h"

namespace fixpoint::boxes {

// The image of each of `regions` from how many each image has. Error (kInvalidArgument): a count is
// negative, or they do not add up to the regions; the slot is that of the counts.
absl::StatusOr<std::vector<int64_t>> ImagesFromCounts(absl::string_view slot,
                                                      absl::Span<const int64_t> counts,
                                                      int64_t regions);
// The same from offsets. Error (kInvalidArgument): they do not cut the regions.
absl::StatusOr<std::vector<int64_t>> ImagesFromOffsets(absl::string_view slot,
                                                       absl::Span<const int64_t> offsets,
                                                       int64_t regions);

// Maps [channels, height, width] of an image, and [pooled_channels, pooled_height, pooled_width] of
// a region.
struct RegionPooling {
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t pooled_height;
  int64_t pooled_width;
  float spatial_scale;
  int64_t sampling_ratio = -1;  // roi_align; below 1: as many as the region is large
  bool is_aligned = false;      // roi_align: half a pixel is taken off
  int64_t pooled_channels = 0;  // psroi_pool: fewer than channels

  int64_t image_size() const { return channels * height * width; }
  int64_t pooled_size() const { return pooled_channels * pooled_height * pooled_width; }
};

// Error (kInvalidArgument): an attribute that makes no sense, or so many samples that no machine
// sums them.
absl::StatusOr<RegionPooling> RegionPoolingOf(const OpAttributes& op,
                                              absl::Span<const int64_t> x_dims);

// Averages of samples between pixels. Where a corner is not finite, all are 0.
template <typename T>
void AlignRegion(const RegionPooling& pooling, absl::Span<const T> image, const float* region,
                 absl::Span<T> pooled);
// Adds to dimage.
template <typename T>
void AlignRegionBackward(const RegionPooling& pooling, const float* region,
                         absl::Span<const T> dpooled, absl::Span<T> dimage);

// The average of each bin, in a channel of the image that no other bin has: that of bin (c, i, j)
// is (c * pooled_height + i) * pooled_width + j. 0 of a bin without elements.
template <typename T>
void AverageOwnChannels(const RegionPooling& pooling, absl::Span<const T> image,
                        const float* region, absl::Span<T> pooled);
// Adds to dimage.
template <typename T>
void AverageOwnChannelsBackward(const RegionPooling& pooling, const float* region,
                                absl::Span<const T> dpooled, absl::Span<T> dimage);

// The integral of the image over each bin by the bin's area, where the image is interpolated
// between its elements and 0 around them: 0 of a bin without area, or if a corner is not finite.
template <typename T>
void IntegrateRegion(const RegionPooling& pooling, absl::Span<const T> image, const T* region,
                     absl::Span<T> pooled);
// Adds to dimage.
template <typename T>
void IntegrateRegionBackward(const RegionPooling& pooling, const T* region,
                             absl::Span<const T> dpooled, absl::Span<T> dimage);
// Writes the gradient of the four corners.
template <typename T>
void IntegrateRegionBackwardCorners(const RegionPooling& pooling, absl::Span<const T> image,
                                    const T* region, absl::Span<const T> dpooled,
                                    absl::Span<T> dregion);

// The largest element of each bin, and its place in its channel; 0 and -1 of a bin without
// elements.
template <typename T>
void PoolRegion(const RegionPooling& pooling, absl::Span<const T> image, const float* region,
                absl::Span<T> pooled, absl::Span<int64_t> places);
// Adds to dimage. Error (kInvalidArgument): a place is not one of a channel, nor -1.
template <typename T>
absl::Status PoolRegionBackward(const RegionPooling& pooling, absl::Span<const int64_t> places,
                                absl::Span<const T> dpooled, absl::Span<T> dimage);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_REGIONS_H_
