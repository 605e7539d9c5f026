#include "runtime/kernels/batch_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>

#include "absl/status/status.h"
#include "ops/quant_math.h"
#include "proto/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/fake_quantize_loops.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

using Relu = BatchNormShape::Relu;

// Of Wide().
constexpr int64_t kWideRows = 5;

constexpr int64_t kRowsOfPiece = 4096;
// Rows that are added up in floats.
constexpr int64_t kRowsOfBlock = 128;

// Calls f(piece, first, end) with each piece of rows, on all threads.
template <typename F>
void ForEachPiece(int64_t pieces, int64_t rows, F f) {
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    f(piece, piece * kRowsOfPiece, std::min(rows, (piece + 1) * kRowsOfPiece));
  }
}

// Calls f(first, rows) with each block of the rows from `first` to `end`.
template <typename F>
inline void ForEachBlock(int64_t first, int64_t end, F f) {
  for (; first < end; first += kRowsOfBlock) f(first, std::min(kRowsOfBlock, end - first));
}

// Calls f.template Run<kLanes>(c) for all channels, of which it takes kLanes from c on.
template <typename F>
inline void ForEachChannel(int64_t channels, F f) {
  int64_t c = 0;
  for (; c + 16 <= channels; c += 16) f.template Run<16>(c);
  for (; c + 4 <= channels; c += 4) f.template Run<4>(c);
  for (; c < channels; ++c) f.template Run<1>(c);
}

// Of a block of rows of x: to each channel's sums of x - origin and of its square, and its ends. In
// floats those are of x - the block's first row: an origin far from all else would leave of the
// squares only what rounding does not take.
struct Statistics {
  const float* x;  // the first row
  const float* origin;
  int64_t channels;
  int64_t rows;
  double* sums;
  double* squares;
  float* lowest;
  float* largest;

  template <int kLanes>
  inline void Run(int64_t c) const {
    float sum[kLanes] = {};
    float square[kLanes] = {};
    float low[kLanes];
    float high[kLanes];
    for (int l = 0; l < kLanes; ++l) low[l] = lowest[c + l];
    for (int l = 0; l < kLanes; ++l) high[l] = largest[c + l];
    for (int64_t row = 0; row < rows; ++row) {
      const float* const element = x + row * channels + c;
      for (int l = 0; l < kLanes; ++l) {
        const float value = element[l];
        const float moved = value - x[c + l];
        sum[l] += moved;
        square[l] += moved * moved;
        low[l] = value < low[l] ? value : low[l];
        high[l] = value > high[l] ? value : high[l];
      }
    }
    for (int l = 0; l < kLanes; ++l) {
      const double count = static_cast<double>(rows);
      const double distance = double{x[c + l]} - double{origin[c + l]};
      sums[c + l] += sum[l] + count * distance;
      squares[c + l] += square[l] + distance * (2 * double{sum[l]} + count * distance);
    }
    for (int l = 0; l < kLanes; ++l) lowest[c + l] = low[l];
    for (int l = 0; l < kLanes; ++l) largest[c + l] = high[l];
  }
};

template <Relu kRelu>
inline float Rectified(float y) {
  if (kRelu == Relu::kOfNumbers) return y > 0 ? y : 0;
  if (kRelu == Relu::kKeepingNan) return y < 0 ? 0 : y;
  return y;
}

// y of rows, given to store(place, y). A row may be several of the tensor's.
template <Relu kRelu, typename Store>
inline void NormalizeRow(const float* x, const float* factors, const float* addends, int64_t at,
                         int64_t size, Store store) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    store(at + i, Rectified<kRelu>(x[at + i] * factors[i] + addends[i]));
  }
}

// How many rows make one that is worth vectors of bytes.
int64_t RepeatsOf(int64_t channels) {
  constexpr int64_t kWide = 256;
  return std::max<int64_t>(1, (kWide + channels - 1) / channels);
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> BatchNorm::Plan(const BatchNormShape& shape) {
  RETURN_IF_ERROR(CheckExtents("images", {shape.batch, shape.channels, shape.height, shape.width}));
  try {
    return std::unique_ptr<BatchNorm>(new BatchNorm(shape));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return absl::FailedPreconditionError("there is no memory for a batch normalization");
}

BatchNorm::BatchNorm(const BatchNormShape& shape)
    : shape_(shape),
      pieces_((shape.rows() + kRowsOfPiece - 1) / kRowsOfPiece),
      repeats_(RepeatsOf(shape.channels)),
      sums_(pieces_ * shape.channels),
      products_(sums_.size()),
      lowest_(sums_.size()),
      largest_(sums_.size()),
      wide_(kWideRows * repeats_ * shape.channels),
      parts_(2 * pieces_ * repeats_ * shape.channels) {}

absl::Span<const float> BatchNorm::Wide(int place, absl::Span<const float> of_channels) {
  const absl::Span<float> wide =
      absl::MakeSpan(wide_).subspan(place * repeats_ * shape_.channels, repeats_ * shape_.channels);
  for (int64_t i = 0; i < repeats_; ++i) {
    std::copy(of_channels.begin(), of_channels.end(), wide.begin() + i * shape_.channels);
  }
  return wide;
}

template <typename F>
void BatchNorm::ForEachWideRow(F f) const {
  const int64_t size = repeats_ * shape_.channels;
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t, int64_t first, int64_t end) {
    Vectorised([=, begin = first * shape_.channels, end = end * shape_.channels] {
      int64_t at = begin;
      for (; at + size <= end; at += size) f(at, size);
      if (at < end) f(at, end - at);
    });
  });
}

template <typename Store>
void BatchNorm::NormalizeAll(absl::Span<const float> x, const BatchStatistics& statistics,
                             Store store) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  ForEachWideRow([=, x = x.data(), factors = Wide(0, statistics.factors).data(),
                  addends = Wide(1, statistics.addends).data(),
                  relu = shape_.relu](int64_t at, int64_t size) {
    switch (relu) {
      case Relu::kNone:
        return NormalizeRow<Relu::kNone>(x, factors, addends, at, size, store);
      case Relu::kOfNumbers:
        return NormalizeRow<Relu::kOfNumbers>(x, factors, addends, at, size, store);
      case Relu::kKeepingNan:
        return NormalizeRow<Relu::kKeepingNan>(x, factors, addends, at, size, store);
    }
  });
}

template <typename Code>
void BatchNorm::NormalizeToCodes(absl::Span<const float> x, const BatchStatistics& statistics,
                                 float range, const CodeRule& rule, absl::Span<Code> codes) {
  CHECK_EQ(codes.size(), x.size());
  const float largest = static_cast<float>(rule.largest_code);
  const float multiplier = largest * InverseRange(range);
  if (rule.rounding == QuantSpec::HALF_TO_EVEN) {
    NormalizeAll(x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] = As<Code>(CodeOf<QuantSpec::HALF_TO_EVEN>(y, range, multiplier, largest));
    });
  } else {
    NormalizeAll(x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] = As<Code>(CodeOf<QuantSpec::HALF_AWAY_FROM_ZERO>(y, range, multiplier, largest));
    });
  }
}

void BatchNorm::FindStatistics(absl::Span<const float> x, absl::Span<const float> scale,
                               absl::Span<const float> bias, const BatchStatistics& statistics,
                               float* range_of_y) {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(products_.begin(), products_.end(), 0.0);
  std::fill(lowest_.begin(), lowest_.end(), INFINITY);
  std::fill(largest_.begin(), largest_.end(), -INFINITY);
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t piece, int64_t first, int64_t end) {
    Vectorised([=, x = x.data(), sums = &sums_[piece * channels],
                squares = &products_[piece * channels], lowest = &lowest_[piece * channels],
                largest = &largest_[piece * channels]] {
      ForEachBlock(first, end, [=](int64_t row, int64_t rows) {
        ForEachChannel(channels, Statistics{x + row * channels, x, channels, rows, sums, squares,
                                            lowest, largest});
      });
    });
  });
  const double rows = static_cast<double>(shape_.rows());
  float range = 0;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    double squares = 0;
    float ends[] = {INFINITY, -INFINITY};
    for (int64_t at = c; at < pieces_ * channels; at += channels) {
      sum += sums_[at];
      squares += products_[at];
      ends[0] = std::min(ends[0], lowest_[at]);
      ends[1] = std::max(ends[1], largest_[at]);
    }
    const double mean = sum / rows;
    const double variance = std::max(0.0, squares / rows - mean * mean);
    statistics.mean[c] = static_cast<float>(x[c] + mean);
    statistics.variance[c] = static_cast<float>(variance);
    statistics.factors[c] = scale[c] / std::sqrt(statistics.variance[c] + shape_.epsilon);
    statistics.addends[c] = bias[c] - statistics.mean[c] * statistics.factors[c];
    for (const float end : ends) {
      const float y = end * statistics.factors[c] + statistics.addends[c];
      const float magnitude = shape_.relu == Relu::kNone ? std::fabs(y) : y;
      if (magnitude > range) range = magnitude;
    }
  }
  *range_of_y = range;
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics,
                          absl::Span<float> y) {
  CHECK_EQ(y.size(), x.size());
  NormalizeAll(x, statistics, [y = y.data()](int64_t at, float value) { y[at] = value; });
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRule& rule, absl::Span<int8_t> codes) {
  NormalizeToCodes(x, statistics, range, rule, codes);
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRule& rule, absl::Span<uint8_t> codes) {
  CHECK(shape_.relu != Relu::kNone);
  NormalizeToCodes(x, statistics, range, rule, codes);
}

void BatchNorm::Backward(absl::Span<const float> x, absl::Span<const float> dy,
                         const BatchStatistics& statistics, absl::Span<float> dx,
                         absl::Span<float> dscale, absl::Span<float> dbias) {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  CHECK(dy.size() == x.size() && dx.size() == x.size());
  const bool relu = shape_.relu != Relu::kNone;
  const int64_t wide = repeats_ * channels;
  const float* const factors = Wide(0, statistics.factors).data();
  const float* const addends = Wide(1, statistics.addends).data();
  const float* const mean = Wide(2, statistics.mean).data();
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(products_.begin(), products_.end(), 0.0);
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t piece, int64_t first, int64_t end) {
    Vectorised([=, x = x.data(), dy = dy.data(), part = &parts_[2 * piece * wide],
                product_part = &parts_[(2 * piece + 1) * wide], sums = &sums_[piece * channels],
                products = &products_[piece * channels], end = end * channels] {
      constexpr int64_t kWideRowsOfBlock = 32;
      for (int64_t at = first * channels; at < end;) {
        std::fill_n(part, 2 * wide, 0.0f);
        for (int64_t i = 0; i < kWideRowsOfBlock && at < end; ++i, at += wide) {
          const float* const values = x + at;
          const float* const given = dy + at;
          const int64_t size = std::min(wide, end - at);
#pragma GCC ivdep
          for (int64_t e = 0; e < size; ++e) {
            const float all = given[e];
            const float passed = values[e] * factors[e] + addends[e] > 0 ? all : 0;
            const float gradient = relu ? passed : all;
            part[e] += gradient;
            product_part[e] += gradient * (values[e] - mean[e]);
          }
        }
        for (int64_t e = 0; e < wide; e += channels) {
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) {
            sums[c] += double{part[e + c]};
            products[c] += double{product_part[e + c]};
          }
        }
      }
    });
  });
  // dx = factor * (dy - means - (x - mean) * slopes), where the means take the places of lowest_
  // and the slopes those of largest_.
  const double rows = static_cast<double>(shape_.rows());
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    double products = 0;
    for (int64_t at = c; at < pieces_ * channels; at += channels) {
      sum += sums_[at];
      products += products_[at];
    }
    const double squared_deviation = double{statistics.variance[c]} + double{shape_.epsilon};
    dbias[c] = static_cast<float>(sum);
    dscale[c] = static_cast<float>(products / std::sqrt(squared_deviation));
    lowest_[c] = static_cast<float>(sum / rows);
    largest_[c] = static_cast<float>(products / rows / squared_deviation);
  }
  ForEachWideRow([=, x = x.data(), dy = dy.data(), dx = dx.data(),
                  means = Wide(3, absl::MakeSpan(lowest_).first(channels)).data(),
                  slopes = Wide(4, absl::MakeSpan(largest_).first(channels)).data()](int64_t at,
                                                                                     int64_t size) {
    if (relu) {
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) {
        const float value = x[at + i];
        const float given = dy[at + i];
        const float gradient = value * factors[i] + addends[i] > 0 ? given : 0;
        dx[at + i] = factors[i] * (gradient - means[i] - (value - mean[i]) * slopes[i]);
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) {
        dx[at + i] = factors[i] * (dy[at + i] - means[i] - (x[at + i] - mean[i]) * slopes[i]);
      }
    }
  });
}

std::string BatchNorm::implementation() const { return LoopsName(); }

}  // namespace fixpoint::kernels
