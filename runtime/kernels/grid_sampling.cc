#include "runtime/kernels/grid_sampling.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

struct Place {
  float at;
  float slope;
};

Place PlaceOf(const GridSampling& sampling, float coordinate, int64_t size) {
  const auto extent = static_cast<float>(size);
  const float last = extent - 1;
  Place place = sampling.aligns_corners ? Place{(coordinate + 1) * last / 2, last / 2}
                                        : Place{((coordinate + 1) * extent - 1) / 2, extent / 2};
  if (sampling.padding == GridPadding::kZeros) return place;
  if (sampling.padding == GridPadding::kReflection) {
    const float shift = sampling.aligns_corners ? 0.0f : 0.5f;
    const float range = 2 * (sampling.aligns_corners ? last : extent);
    const float shifted = place.at + shift;
    const float away = std::abs(shifted);
    const float extra = range > 0 ? away - std::floor(away / range) * range : 0.0f;
    const bool flips = extra > range - extra;
    if ((shifted < 0) != flips) place.slope = -place.slope;
    place.at = (flips ? range - extra : extra) - shift;
  }
  if (place.at < 0) place = {0, 0};
  if (place.at > last) place = {last, 0};
  return place;
}

bool IsNear(float place, int64_t size) { return place > -1 && place < static_cast<float>(size); }

void AddCorner(const GridSampling& sampling, int index, float row, float column, float weight,
               float by_row, float by_column, SampleCorners* corners) {
  const bool is_inside = row >= 0 && row < static_cast<float>(sampling.height) && column >= 0 &&
                         column < static_cast<float>(sampling.width);
  corners->places[index] = is_inside
                               ? static_cast<int32_t>(static_cast<int64_t>(row) * sampling.width +
                                                      static_cast<int64_t>(column))
                               : -1;
  corners->weights[index] = is_inside ? weight : 0;
  corners->by_row[index] = is_inside ? by_row : 0;
  corners->by_column[index] = is_inside ? by_column : 0;
}

SampleCorners CornersOf(const GridSampling& sampling, float x, float y) {
  SampleCorners corners = {{-1, -1, -1, -1}, {}, {}, {}};
  const Place column = PlaceOf(sampling, x, sampling.width);
  const Place row = PlaceOf(sampling, y, sampling.height);
  if (sampling.is_nearest) {
    AddCorner(sampling, 0, std::nearbyint(row.at), std::nearbyint(column.at), 1, 0, 0, &corners);
    return corners;
  }
  if (!IsNear(row.at, sampling.height) || !IsNear(column.at, sampling.width)) return corners;
  const float top = std::floor(row.at);
  const float left = std::floor(column.at);
  for (int i = 0; i < 4; ++i) {
    const bool is_low = i >= 2;
    const bool is_right = i % 2 == 1;
    const float of_row = is_low ? row.at - top : 1 - (row.at - top);
    const float of_column = is_right ? column.at - left : 1 - (column.at - left);
    AddCorner(sampling, i, is_low ? top + 1 : top, is_right ? left + 1 : left, of_row * of_column,
              (is_low ? of_column : -of_column) * row.slope,
              (is_right ? of_row : -of_row) * column.slope, &corners);
  }
  return corners;
}

}  // namespace

void FindCorners(const GridSampling& sampling, absl::Span<const float> grid,
                 absl::Span<SampleCorners> corners) {
  for (size_t i = 0; i < corners.size(); ++i) {
    corners[i] = CornersOf(sampling, grid[2 * i], grid[2 * i + 1]);
  }
}

void SampleGrid(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                absl::Span<const float> x, absl::Span<float> out) {
  const int64_t plane = sampling.height * sampling.width;
  ParallelFor(sampling.images * sampling.channels, (plane + 10 * sampling.samples) * 4,
              [&sampling, plane, all = corners.data(), x = x.data(), out = out.data()](
                  int64_t begin, int64_t end) {
                const int64_t samples = sampling.samples;
                for (int64_t p = begin; p < end; ++p) {
                  const float* const from = x + p * plane;
                  const SampleCorners* const of_image = all + p / sampling.channels * samples;
                  float* const to = out + p * samples;
                  for (int64_t i = 0; i < samples; ++i) {
                    const SampleCorners& at = of_image[i];
                    float sum = 0;
                    for (int k = 0; k < 4; ++k) {
                      if (at.places[k] >= 0) sum += at.weights[k] * from[at.places[k]];
                    }
                    to[i] = sum;
                  }
                }
              });
}

void SampleGridBackwardX(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                         absl::Span<const float> dout, absl::Span<float> dx) {
  const int64_t plane = sampling.height * sampling.width;
  ParallelFor(sampling.images * sampling.channels, (plane + 10 * sampling.samples) * 4,
              [&sampling, plane, all = corners.data(), dout = dout.data(), dx = dx.data()](
                  int64_t begin, int64_t end) {
                const int64_t samples = sampling.samples;
                for (int64_t p = begin; p < end; ++p) {
                  float* const to = dx + p * plane;
                  std::fill(to, to + plane, 0.0f);
                  const SampleCorners* const of_image = all + p / sampling.channels * samples;
                  for (int64_t i = 0; i < samples; ++i) {
                    const SampleCorners& at = of_image[i];
                    const float d = dout[p * samples + i];
                    for (int k = 0; k < 4; ++k) {
                      if (at.places[k] >= 0) to[at.places[k]] += at.weights[k] * d;
                    }
                  }
                }
              });
}

void SampleGridBackwardGrid(const GridSampling& sampling, absl::Span<const SampleCorners> corners,
                            absl::Span<const float> x, absl::Span<const float> dout,
                            absl::Span<float> dgrid) {
  const int64_t plane = sampling.height * sampling.width;
  ParallelFor(sampling.images * sampling.samples, (10 + 10 * sampling.channels) * 4,
              [&sampling, plane, all = corners.data(), x = x.data(), dout = dout.data(),
               dgrid = dgrid.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const SampleCorners& at = all[i];
                  const int64_t image = i / sampling.samples;
                  double by_column = 0;
                  double by_row = 0;
                  for (int64_t c = 0; c < sampling.channels; ++c) {
                    const int64_t p = image * sampling.channels + c;
                    const float d = dout[p * sampling.samples + i % sampling.samples];
                    for (int k = 0; k < 4; ++k) {
                      if (at.places[k] < 0) continue;
                      const float value = x[p * plane + at.places[k]] * d;
                      by_column += static_cast<double>(at.by_column[k] * value);
                      by_row += static_cast<double>(at.by_row[k] * value);
                    }
                  }
                  dgrid[2 * i] = static_cast<float>(by_column);
                  dgrid[2 * i + 1] = static_cast<float>(by_row);
                }
              });
}

}  // namespace fixpoint::kernels
