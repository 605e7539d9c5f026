#include "runtime/boxes/regions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"

namespace fixpoint::boxes {
namespace {

// A sample between two elements of an axis.
struct Sample {
  int64_t low;
  int64_t high;
  float of_low;
  float of_high;
};

// The samples of the bins of one axis that lie in the image, and how many a bin has in all.
struct AxisSamples {
  std::vector<std::vector<Sample>> of_bins;
  float count = 1;
};

Sample SampleAt(float place, int64_t size) {
  place = std::max(place, 0.0f);
  const auto low = static_cast<int64_t>(place);
  if (low >= size - 1) return {size - 1, size - 1, 1, 0};
  const float part = place - static_cast<float>(low);
  return {low, low + 1, 1 - part, part};
}

AxisSamples SamplesOf(float begin, float length, int64_t bins, int64_t ratio, int64_t size) {
  AxisSamples samples;
  samples.of_bins.resize(bins);
  if (size == 0 || !std::isfinite(begin) || !std::isfinite(length)) return samples;
  const float bin = length / static_cast<float>(bins);
  samples.count = ratio > 0 ? static_cast<float>(ratio) : std::ceil(bin);
  constexpr float kMostSamples = 1 << 30;
  if (!(samples.count <= kMostSamples)) return samples;
  const float step = bin / samples.count;
  for (int64_t i = 0; i < bins; ++i) {
    const float first = begin + static_cast<float>(i) * bin;
    // The samples beside the image count as zeros: only those from a little before it on are
    // looked at.
    const double from = step > 0 ? std::floor((-2.0 - first) / step) : 0;
    for (double k = std::max(0.0, from); k < samples.count; ++k) {
      const float place = first + static_cast<float>(k + 0.5) * bin / samples.count;
      const bool is_past = place > static_cast<float>(size);
      if (is_past && step > 0) break;
      if (!is_past && place >= -1) samples.of_bins[i].push_back(SampleAt(place, size));
    }
  }
  return samples;
}

struct RegionSamples {
  AxisSamples y;
  AxisSamples x;
  float count;
};

RegionSamples SamplesOf(const RegionPooling& pooling, const float* region) {
  const float offset = pooling.is_aligned ? 0.5f : 0.0f;
  float corners[4];
  for (int i = 0; i < 4; ++i) corners[i] = region[i] * pooling.spatial_scale - offset;
  float width = corners[2] - corners[0];
  float height = corners[3] - corners[1];
  if (!pooling.is_aligned) {
    width = std::max(width, 1.0f);
    height = std::max(height, 1.0f);
  }
  RegionSamples samples;
  samples.y =
      SamplesOf(corners[1], height, pooling.pooled_height, pooling.sampling_ratio, pooling.height);
  samples.x =
      SamplesOf(corners[0], width, pooling.pooled_width, pooling.sampling_ratio, pooling.width);
  samples.count = std::max(samples.y.count * samples.x.count, 1.0f);
  return samples;
}

// Calls f(bin, y, x) with each pair of samples of each bin.
template <typename F>
void ForEachSample(const RegionPooling& pooling, const RegionSamples& samples, F f) {
  for (int64_t i = 0; i < pooling.pooled_height; ++i) {
    for (int64_t j = 0; j < pooling.pooled_width; ++j) {
      for (const Sample& y : samples.y.of_bins[i]) {
        for (const Sample& x : samples.x.of_bins[j]) f(i * pooling.pooled_width + j, y, x);
      }
    }
  }
}

// Rows or columns [first, last) of a bin.
struct Bin {
  int64_t first;
  int64_t last;
};

// The part of it that is in the image; a corner that is no number makes a bin without elements.
Bin BinWithin(double first, double last, int64_t size) {
  if (!(first <= last)) return {0, 0};
  const double most = static_cast<double>(size);
  return {static_cast<int64_t>(std::clamp(first, 0.0, most)),
          static_cast<int64_t>(std::clamp(last, 0.0, most))};
}

// Of a region from `begin` to `end`, both rounded and included.
std::vector<Bin> BinsOf(double begin, double end, int64_t bins, int64_t size) {
  std::vector<Bin> all;
  const float length = static_cast<float>(std::max(end - begin + 1, 1.0));
  const float bin = length / static_cast<float>(bins);
  for (int64_t i = 0; i < bins; ++i) {
    const double first = static_cast<double>(std::floor(static_cast<float>(i) * bin)) + begin;
    const double last = static_cast<double>(std::ceil(static_cast<float>(i + 1) * bin)) + begin;
    all.push_back(BinWithin(first, last, size));
  }
  return all;
}

// Of a region whose end is not included, of a tenth of an element at least.
std::vector<Bin> ExactBinsOf(float begin, float end, int64_t bins, int64_t size) {
  std::vector<Bin> all;
  const float bin = std::max(end - begin, 0.1f) / static_cast<float>(bins);
  for (int64_t i = 0; i < bins; ++i) {
    const double first = std::floor(static_cast<float>(i) * bin + begin);
    const double last = std::ceil(static_cast<float>(i + 1) * bin + begin);
    all.push_back(BinWithin(first, last, size));
  }
  return all;
}

// Calls f(i, begin, end, area) with each row of the part of the image that bin i averages, in that
// bin's own channel.
template <typename F>
void ForEachOwnRow(const RegionPooling& pooling, const float* region, F f) {
  float corners[4];
  for (int i = 0; i < 4; ++i) {
    corners[i] = (std::round(region[i]) + static_cast<float>(i / 2)) * pooling.spatial_scale;
  }
  const std::vector<Bin> rows =
      ExactBinsOf(corners[1], corners[3], pooling.pooled_height, pooling.height);
  const std::vector<Bin> columns =
      ExactBinsOf(corners[0], corners[2], pooling.pooled_width, pooling.width);
  int64_t i = 0;
  for (int64_t c = 0; c < pooling.pooled_channels; ++c) {
    for (const Bin& row : rows) {
      for (const Bin& column : columns) {
        const int64_t area = (row.last - row.first) * (column.last - column.first);
        for (int64_t y = row.first; y < row.last && area > 0; ++y) {
          const int64_t begin = (i * pooling.height + y) * pooling.width;
          f(i, begin + column.first, begin + column.last, static_cast<float>(area));
        }
        ++i;
      }
    }
  }
}

absl::Status CheckPositive(absl::string_view name, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; want 1 to ", most));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ImagesFromCounts(absl::string_view slot,
                                                      absl::Span<const int64_t> counts,
                                                      int64_t regions) {
  std::vector<int64_t> images;
  for (size_t image = 0; image < counts.size(); ++image) {
    const int64_t left = regions - static_cast<int64_t>(images.size());
    if (counts[image] < 0 || counts[image] > left) {
      return absl::InvalidArgumentError(absl::StrCat(slot, " has ", counts[image], " for image ",
                                                     image, " and ", left,
                                                     " regions are left; want 0 to as many"));
    }
    images.insert(images.end(), counts[image], static_cast<int64_t>(image));
  }
  if (static_cast<int64_t>(images.size()) == regions) return images;
  return absl::InvalidArgumentError(absl::StrCat(
      slot, " is of ", images.size(), " regions and there are ", regions, "; want as many"));
}

absl::StatusOr<std::vector<int64_t>> ImagesFromOffsets(absl::string_view slot,
                                                       absl::Span<const int64_t> offsets,
                                                       int64_t regions) {
  const bool is_sorted = std::is_sorted(offsets.begin(), offsets.end());
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != regions || !is_sorted) {
    return absl::InvalidArgumentError(
        absl::StrCat("the offsets of ", slot, " do not cut its ", regions, " rows; want them to"));
  }
  std::vector<int64_t> images;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    images.insert(images.end(), offsets[i + 1] - offsets[i], static_cast<int64_t>(i));
  }
  return images;
}

absl::StatusOr<RegionPooling> RegionPoolingOf(const OpAttributes& op,
                                              absl::Span<const int64_t> x_dims) {
  if (x_dims.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x_dims), "; want 4 dimensions"));
  }
  RegionPooling pooling{x_dims[1],
                        x_dims[2],
                        x_dims[3],
                        op.Int("pooled_height"),
                        op.Int("pooled_width"),
                        static_cast<float>(op.Float("spatial_scale"))};
  constexpr int64_t kMost = 1 << 12;
  RETURN_IF_ERROR(CheckPositive("pooled_height", pooling.pooled_height, kMost));
  RETURN_IF_ERROR(CheckPositive("pooled_width", pooling.pooled_width, kMost));
  const bool is_average = op.op().type() == "roi_align" || op.op().type() == "roi_align_grad";
  if (is_average) {
    pooling.sampling_ratio = op.Int("sampling_ratio");
    pooling.is_aligned = op.Bool("aligned");
    if (pooling.sampling_ratio > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat("sampling_ratio is ", pooling.sampling_ratio, "; want at most ", kMost));
    }
  }
  pooling.pooled_channels = pooling.channels;
  if (op.op().type() == "psroi_pool" || op.op().type() == "psroi_pool_grad") {
    pooling.pooled_channels = op.Int("output_channels");
    RETURN_IF_ERROR(CheckPositive("output_channels", pooling.pooled_channels, 1 << 20));
    if (pooling.pooled_size() != pooling.channels) {
      return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x_dims), "; want ",
                                                     pooling.pooled_size(),
                                                     " channels, one for each bin"));
    }
  }
  if (!(pooling.spatial_scale > 0) || !std::isfinite(pooling.spatial_scale)) {
    return absl::InvalidArgumentError(
        absl::StrCat("spatial_scale is ", pooling.spatial_scale, "; want a positive number"));
  }
  return pooling;
}

template <typename T>
void AlignRegion(const RegionPooling& pooling, absl::Span<const T> image, const float* region,
                 absl::Span<T> pooled) {
  const RegionSamples samples = SamplesOf(pooling, region);
  const int64_t bins = pooling.pooled_height * pooling.pooled_width;
  std::fill(pooled.begin(), pooled.end(), T(0));
  for (int64_t c = 0; c < pooling.channels; ++c) {
    const T* const plane = image.data() + c * pooling.height * pooling.width;
    T* const out = pooled.data() + c * bins;
    ForEachSample(pooling, samples, [&](int64_t bin, const Sample& y, const Sample& x) {
      const T* const low = plane + y.low * pooling.width;
      const T* const high = plane + y.high * pooling.width;
      out[bin] += static_cast<T>(y.of_low * x.of_low) * low[x.low] +
                  static_cast<T>(y.of_low * x.of_high) * low[x.high] +
                  static_cast<T>(y.of_high * x.of_low) * high[x.low] +
                  static_cast<T>(y.of_high * x.of_high) * high[x.high];
    });
    for (int64_t i = 0; i < bins; ++i) out[i] /= static_cast<T>(samples.count);
  }
}

template <typename T>
void AlignRegionBackward(const RegionPooling& pooling, const float* region,
                         absl::Span<const T> dpooled, absl::Span<T> dimage) {
  const RegionSamples samples = SamplesOf(pooling, region);
  const int64_t bins = pooling.pooled_height * pooling.pooled_width;
  for (int64_t c = 0; c < pooling.channels; ++c) {
    T* const plane = dimage.data() + c * pooling.height * pooling.width;
    const T* const dout = dpooled.data() + c * bins;
    ForEachSample(pooling, samples, [&](int64_t bin, const Sample& y, const Sample& x) {
      const T d = dout[bin] / static_cast<T>(samples.count);
      T* const low = plane + y.low * pooling.width;
      T* const high = plane + y.high * pooling.width;
      low[x.low] += static_cast<T>(y.of_low * x.of_low) * d;
      low[x.high] += static_cast<T>(y.of_low * x.of_high) * d;
      high[x.low] += static_cast<T>(y.of_high * x.of_low) * d;
      high[x.high] += static_cast<T>(y.of_high * x.of_high) * d;
    });
  }
}

template <typename T>
void PoolRegion(const RegionPooling& pooling, absl::Span<const T> image, const float* region,
                absl::Span<T> pooled, absl::Span<int64_t> places) {
  double corners[4];
  for (int i = 0; i < 4; ++i) {
    corners[i] = static_cast<double>(std::round(region[i] * pooling.spatial_scale));
  }
  const std::vector<Bin> rows =
      BinsOf(corners[1], corners[3], pooling.pooled_height, pooling.height);
  const std::vector<Bin> columns =
      BinsOf(corners[0], corners[2], pooling.pooled_width, pooling.width);
  int64_t next = 0;
  for (int64_t c = 0; c < pooling.channels; ++c) {
    const T* const plane = image.data() + c * pooling.height * pooling.width;
    for (const Bin& row : rows) {
      for (const Bin& column : columns) {
        const bool is_empty = row.first >= row.last || column.first >= column.last;
        T largest = is_empty ? T(0) : static_cast<T>(std::numeric_limits<float>::lowest());
        int64_t place = -1;
        for (int64_t y = row.first; y < row.last; ++y) {
          for (int64_t x = column.first; x < column.last; ++x) {
            const int64_t at = y * pooling.width + x;
            if (!(plane[at] > largest)) continue;
            largest = plane[at];
            place = at;
          }
        }
        pooled[next] = largest;
        places[next++] = place;
      }
    }
  }
}

template <typename T>
void AverageOwnChannels(const RegionPooling& pooling, absl::Span<const T> image,
                        const float* region, absl::Span<T> pooled) {
  std::vector<double> sums(pooled.size(), 0);
  std::vector<float> areas(pooled.size(), 1);
  ForEachOwnRow(pooling, region, [&](int64_t i, int64_t begin, int64_t end, float area) {
    for (int64_t at = begin; at < end; ++at) sums[i] += image[at];
    areas[i] = area;
  });
  for (size_t i = 0; i < pooled.size(); ++i) pooled[i] = static_cast<T>(sums[i] / areas[i]);
}

template <typename T>
void AverageOwnChannelsBackward(const RegionPooling& pooling, const float* region,
                                absl::Span<const T> dpooled, absl::Span<T> dimage) {
  ForEachOwnRow(pooling, region, [&](int64_t i, int64_t begin, int64_t end, float area) {
    for (int64_t at = begin; at < end; ++at) dimage[at] += dpooled[i] / static_cast<T>(area);
  });
}

template <typename T>
absl::Status PoolRegionBackward(const RegionPooling& pooling, absl::Span<const int64_t> places,
                                absl::Span<const T> dpooled, absl::Span<T> dimage) {
  const int64_t plane = pooling.height * pooling.width;
  const int64_t bins = pooling.pooled_height * pooling.pooled_width;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t place = places[i];
    if (place == -1) continue;
    if (place < 0 || place >= plane) {
      return absl::InvalidArgumentError(
          absl::StrCat("Argmax has ", place, "; want -1 to ", plane - 1));
    }
    dimage[static_cast<int64_t>(i) / bins * plane + place] += dpooled[i];
  }
  return absl::OkStatus();
}

#define FIXPOINT_INSTANTIATE(T)                                                                    \
  template void AlignRegion(const RegionPooling&, absl::Span<const T>, const float*,               \
                            absl::Span<T>);                                                        \
  template void AlignRegionBackward(const RegionPooling&, const float*, absl::Span<const T>,       \
                                    absl::Span<T>);                                                \
  template void AverageOwnChannels(const RegionPooling&, absl::Span<const T>, const float*,        \
                                   absl::Span<T>);                                                 \
  template void AverageOwnChannelsBackward(const RegionPooling&, const float*,                     \
                                           absl::Span<const T>, absl::Span<T>);                    \
  template void PoolRegion(const RegionPooling&, absl::Span<const T>, const float*, absl::Span<T>, \
                           absl::Span<int64_t>);                                                   \
  template absl::Status PoolRegionBackward(const RegionPooling&, absl::Span<const int64_t>,        \
                                           absl::Span<const T>, absl::Span<T>);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
