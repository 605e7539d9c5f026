// Regions that prroi_pool integrates over. The integral of an interpolated image is the sum of its
// elements, each by a weight of its row and one of its column.

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/boxes/regions.h"

namespace fixpoint::boxes {
namespace {

// How much an element at 0 counts at a place, and the integral of that up to there.
double CountsAt(double place) { return std::max(1 - std::abs(place), 0.0); }
double CountsUpTo(double place) {
  const double p = std::clamp(place, -1.0, 1.0);
  return p < 0 ? (1 + p) * (1 + p) / 2 : 1 - (1 - p) * (1 - p) / 2;
}

// The elements that count in a bin of an axis, from `first` on.
struct BinWeights {
  double begin;
  double end;
  int64_t first = 0;
  std::vector<double> weights;
  // How much each counts at the begin and at the end.
  std::vector<double> at_begin;
  std::vector<double> at_end;

  double length() const { return end - begin; }
};

struct AxisBins {
  std::vector<BinWeights> bins;
  bool is_empty = true;
};

AxisBins BinsOf(double from, double to, double scale, int64_t count, int64_t size) {
  AxisBins axis;
  axis.bins.resize(count);
  const double begin = from * scale;
  const double length = to * scale - begin;
  if (!std::isfinite(begin) || !std::isfinite(length) || !(length > 0)) return axis;
  axis.is_empty = false;
  for (int64_t i = 0; i < count; ++i) {
    BinWeights& bin = axis.bins[i];
    bin.begin = begin + static_cast<double>(i) * length / static_cast<double>(count);
    bin.end = begin + static_cast<double>(i + 1) * length / static_cast<double>(count);
    const double last = static_cast<double>(size);
    bin.first = static_cast<int64_t>(std::clamp(std::floor(bin.begin), 0.0, last));
    const auto end = static_cast<int64_t>(std::clamp(std::ceil(bin.end) + 1, 0.0, last));
    for (int64_t k = bin.first; k < end; ++k) {
      const auto place = static_cast<double>(k);
      bin.weights.push_back(CountsUpTo(bin.end - place) - CountsUpTo(bin.begin - place));
      bin.at_begin.push_back(CountsAt(bin.begin - place));
      bin.at_end.push_back(CountsAt(bin.end - place));
    }
  }
  return axis;
}

// Calls f(bin, plane, row, column) with each bin of each channel.
template <typename T, typename F>
void ForEachBin(const RegionPooling& pooling, const T* region, F f) {
  const double scale = pooling.spatial_scale;
  const AxisBins rows = BinsOf(region[1], region[3], scale, pooling.pooled_height, pooling.height);
  const AxisBins columns = BinsOf(region[0], region[2], scale, pooling.pooled_width, pooling.width);
  if (rows.is_empty || columns.is_empty) return;
  int64_t bin = 0;
  for (int64_t c = 0; c < pooling.channels; ++c) {
    for (const BinWeights& row : rows.bins) {
      for (const BinWeights& column : columns.bins) {
        f(bin++, c * pooling.height * pooling.width, row, column);
      }
    }
  }
}

// The sum of elements by weights of their rows and columns.
template <typename T>
double SumOf(const RegionPooling& pooling, const T* plane, const BinWeights& row,
             const std::vector<double>& of_rows, const BinWeights& column,
             const std::vector<double>& of_columns) {
  double sum = 0;
  for (size_t i = 0; i < of_rows.size(); ++i) {
    const T* const line =
        plane + (row.first + static_cast<int64_t>(i)) * pooling.width + column.first;
    double of_line = 0;
    for (size_t j = 0; j < of_columns.size(); ++j) of_line += of_columns[j] * line[j];
    sum += of_rows[i] * of_line;
  }
  return sum;
}

}  // namespace

template <typename T>
void IntegrateRegion(const RegionPooling& pooling, absl::Span<const T> image, const T* region,
                     absl::Span<T> pooled) {
  std::fill(pooled.begin(), pooled.end(), T(0));
  ForEachBin(
      pooling, region,
      [&](int64_t bin, int64_t plane, const BinWeights& row, const BinWeights& column) {
        const double area = row.length() * column.length();
        if (!(area > 0)) return;
        pooled[bin] = static_cast<T>(
            SumOf(pooling, image.data() + plane, row, row.weights, column, column.weights) / area);
      });
}

template <typename T>
void IntegrateRegionBackward(const RegionPooling& pooling, const T* region,
                             absl::Span<const T> dpooled, absl::Span<T> dimage) {
  ForEachBin(pooling, region,
             [&](int64_t bin, int64_t plane, const BinWeights& row, const BinWeights& column) {
               const double area = row.length() * column.length();
               if (!(area > 0)) return;
               for (size_t i = 0; i < row.weights.size(); ++i) {
                 T* const line = dimage.data() + plane +
                                 (row.first + static_cast<int64_t>(i)) * pooling.width +
                                 column.first;
                 const double d = dpooled[bin] * row.weights[i] / area;
                 for (size_t j = 0; j < column.weights.size(); ++j) {
                   line[j] += static_cast<T>(d * column.weights[j]);
                 }
               }
             });
}

template <typename T>
void IntegrateRegionBackwardCorners(const RegionPooling& pooling, absl::Span<const T> image,
                                    const T* region, absl::Span<const T> dpooled,
                                    absl::Span<T> dregion) {
  double sums[4] = {};
  ForEachBin(pooling, region,
             [&](int64_t bin, int64_t plane, const BinWeights& row, const BinWeights& column) {
               const double area = row.length() * column.length();
               if (!(area > 0)) return;
               const T* const elements = image.data() + plane;
               const auto sum = [&](const std::vector<double>& of_rows,
                                    const std::vector<double>& of_columns) {
                 return SumOf(pooling, elements, row, of_rows, column, of_columns);
               };
               const double mean = sum(row.weights, column.weights) / area;
               const double d = dpooled[bin] * pooling.spatial_scale / area;
               // An end of the bin moves with both corners, by how near it is to each.
               const auto add = [&](int axis, int64_t place, int64_t count, double at_begin,
                                    double at_end) {
                 const double begin_part = static_cast<double>(place) / static_cast<double>(count);
                 const double end_part =
                     static_cast<double>(place + 1) / static_cast<double>(count);
                 sums[axis] += d * (at_begin * (1 - begin_part) + at_end * (1 - end_part));
                 sums[axis + 2] += d * (at_begin * begin_part + at_end * end_part);
               };
               const double height = row.length();
               const double width = column.length();
               add(0, bin % pooling.pooled_width, pooling.pooled_width,
                   mean * height - sum(row.weights, column.at_begin),
                   sum(row.weights, column.at_end) - mean * height);
               add(1, bin / pooling.pooled_width % pooling.pooled_height, pooling.pooled_height,
                   mean * width - sum(row.at_begin, column.weights),
                   sum(row.at_end, column.weights) - mean * width);
             });
  for (int i = 0; i < 4; ++i) dregion[i] = static_cast<T>(sums[i]);
}

#define FIXPOINT_INSTANTIATE(T)                                                              \
  template void IntegrateRegion(const RegionPooling&, absl::Span<const T>, const T*,         \
                                absl::Span<T>);                                              \
  template void IntegrateRegionBackward(const RegionPooling&, const T*, absl::Span<const T>, \
                                        absl::Span<T>);                                      \
  template void IntegrateRegionBackwardCorners(const RegionPooling&, absl::Span<const T>,    \
                                               const T*, absl::Span<const T>, absl::Span<T>);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
