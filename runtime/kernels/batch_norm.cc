#include "runtime/kernels/batch_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
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

// Calls f.template Run<kLanes>(c) for all channels, of which it takes kLanes from c on.
template <typename F>
inline void ForEachChannel(int64_t channels, F f) {
  int64_t c = 0;
  for (; c + 16 <= channels; c += 16) f.template Run<16>(c);
  for (; c + 4 <= channels; c += 4) f.template Run<4>(c);
  for (; c < channels; ++c) f.template Run<1>(c);
}

// Of rows of x: of each channel the sum of x - shift, that of its square, and the ends of x.
struct Statistics {
  const float* x;  // the first row
  const float* shift;
  int64_t channels;
  int64_t rows;
  double* sums;
  double* squares;
  float* lowest;
  float* largest;

  template <int kLanes>
  inline void Run(int64_t c) const {
    double sum[kLanes] = {};
    double square[kLanes] = {};
    float low[kLanes];
    float high[kLanes];
    for (int l = 0; l < kLanes; ++l) low[l] = INFINITY;
    for (int l = 0; l < kLanes; ++l) high[l] = -INFINITY;
    for (int64_t first = 0; first < rows; first += kRowsOfBlock) {
      const int64_t end = std::min(rows, first + kRowsOfBlock);
      float part[kLanes] = {};
      float square_part[kLanes] = {};
      for (int64_t row = first; row < end; ++row) {
        const float* const element = x + row * channels + c;
        for (int l = 0; l < kLanes; ++l) {
          const float value = element[l];
          const float moved = value - shift[c + l];
          part[l] += moved;
          square_part[l] += moved * moved;
          low[l] = value < low[l] ? value : low[l];
          high[l] = value > high[l] ? value : high[l];
        }
      }
      for (int l = 0; l < kLanes; ++l) sum[l] += double{part[l]};
      for (int l = 0; l < kLanes; ++l) square[l] += double{square_part[l]};
    }
    for (int l = 0; l < kLanes; ++l) sums[c + l] = sum[l];
    for (int l = 0; l < kLanes; ++l) squares[c + l] = square[l];
    for (int l = 0; l < kLanes; ++l) lowest[c + l] = low[l];
    for (int l = 0; l < kLanes; ++l) largest[c + l] = high[l];
  }
};

// Of rows of dy that the relu lets through: of each channel the sum, and that of its products with
// x - mean.
struct GradientSums {
  const float* x;
  const float* dy;
  const float* mean;
  const float* factors;
  const float* addends;
  bool relu;
  int64_t channels;
  int64_t rows;
  double* sums;
  double* products;

  template <int kLanes>
  inline void Run(int64_t c) const {
    relu ? Sum<kLanes, true>(c) : Sum<kLanes, false>(c);
  }

  template <int kLanes, bool kRelu>
  inline void Sum(int64_t c) const {
    double sum[kLanes] = {};
    double product[kLanes] = {};
    for (int64_t first = 0; first < rows; first += kRowsOfBlock) {
      const int64_t end = std::min(rows, first + kRowsOfBlock);
      float part[kLanes] = {};
      float product_part[kLanes] = {};
      for (int64_t row = first; row < end; ++row) {
        const int64_t at = row * channels + c;
        for (int l = 0; l < kLanes; ++l) {
          const float value = x[at + l];
          const float given = dy[at + l];
          const float y = value * factors[c + l] + addends[c + l];
          const float gradient = !kRelu || y > 0 ? given : 0;
          part[l] += gradient;
          product_part[l] += gradient * (value - mean[c + l]);
        }
      }
      for (int l = 0; l < kLanes; ++l) sum[l] += double{part[l]};
      for (int l = 0; l < kLanes; ++l) product[l] += double{product_part[l]};
    }
    for (int l = 0; l < kLanes; ++l) sums[c + l] = sum[l];
    for (int l = 0; l < kLanes; ++l) products[c + l] = product[l];
  }
};

template <Relu kRelu>
inline float Rectified(float y) {
  if (kRelu == Relu::kOfNumbers) return y > 0 ? y : 0;
  if (kRelu == Relu::kKeepingNan) return y < 0 ? 0 : y;
  return y;
}

// y of rows, given to store(place, y).
template <Relu kRelu, typename Store>
inline void NormalizeRows(const float* x, const float* factors, const float* addends,
                          int64_t channels, int64_t first, int64_t end, Store store) {
  for (int64_t at = first * channels; at < end * channels; at += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      store(at + c, Rectified<kRelu>(x[at + c] * factors[c] + addends[c]));
    }
  }
}

template <typename Store>
void NormalizeAll(const BatchNormShape& shape, int64_t pieces, absl::Span<const float> x,
                  const BatchStatistics& statistics, Store store) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape.size());
  ForEachPiece(pieces, shape.rows(), [&](int64_t, int64_t first, int64_t end) {
    Vectorised([=, x = x.data(), factors = statistics.factors.data(),
                addends = statistics.addends.data(), channels = shape.channels, relu = shape.relu] {
      switch (relu) {
        case Relu::kNone:
          return NormalizeRows<Relu::kNone>(x, factors, addends, channels, first, end, store);
        case Relu::kOfNumbers:
          return NormalizeRows<Relu::kOfNumbers>(x, factors, addends, channels, first, end, store);
        case Relu::kKeepingNan:
          return NormalizeRows<Relu::kKeepingNan>(x, factors, addends, channels, first, end, store);
      }
    });
  });
}

template <typename Code>
void NormalizeToCodes(const BatchNormShape& shape, int64_t pieces, absl::Span<const float> x,
                      const BatchStatistics& statistics, float range, const CodeRule& rule,
                      absl::Span<Code> codes) {
  CHECK_EQ(codes.size(), x.size());
  const float largest = static_cast<float>(rule.largest_code);
  const float multiplier = largest * InverseRange(range);
  if (rule.rounding == QuantSpec::HALF_TO_EVEN) {
    NormalizeAll(shape, pieces, x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] = As<Code>(CodeOf<QuantSpec::HALF_TO_EVEN>(y, range, multiplier, largest));
    });
  } else {
    NormalizeAll(shape, pieces, x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] = As<Code>(CodeOf<QuantSpec::HALF_AWAY_FROM_ZERO>(y, range, multiplier, largest));
    });
  }
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
      sums_(pieces_ * shape.channels),
      products_(sums_.size()),
      lowest_(sums_.size()),
      largest_(sums_.size()) {}

void BatchNorm::FindStatistics(absl::Span<const float> x, absl::Span<const float> scale,
                               absl::Span<const float> bias, const BatchStatistics& statistics,
                               float* range_of_y) {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t piece, int64_t first, int64_t end) {
    const Statistics sums = {x.data() + first * channels,
                             x.data(),
                             channels,
                             end - first,
                             &sums_[piece * channels],
                             &products_[piece * channels],
                             &lowest_[piece * channels],
                             &largest_[piece * channels]};
    Vectorised([=] { ForEachChannel(sums.channels, sums); });
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
                          absl::Span<float> y) const {
  CHECK_EQ(y.size(), x.size());
  NormalizeAll(shape_, pieces_, x, statistics,
               [y = y.data()](int64_t at, float value) { y[at] = value; });
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRule& rule, absl::Span<int8_t> codes) const {
  NormalizeToCodes(shape_, pieces_, x, statistics, range, rule, codes);
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRule& rule, absl::Span<uint8_t> codes) const {
  CHECK(shape_.relu != Relu::kNone);
  NormalizeToCodes(shape_, pieces_, x, statistics, range, rule, codes);
}

void BatchNorm::Backward(absl::Span<const float> x, absl::Span<const float> dy,
                         const BatchStatistics& statistics, absl::Span<float> dx,
                         absl::Span<float> dscale, absl::Span<float> dbias) {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  CHECK(dy.size() == x.size() && dx.size() == x.size());
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t piece, int64_t first, int64_t end) {
    const GradientSums sums = {x.data() + first * channels,
                               dy.data() + first * channels,
                               statistics.mean.data(),
                               statistics.factors.data(),
                               statistics.addends.data(),
                               shape_.relu != Relu::kNone,
                               channels,
                               end - first,
                               &sums_[piece * channels],
                               &products_[piece * channels]};
    Vectorised([=] { ForEachChannel(sums.channels, sums); });
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
  ForEachPiece(pieces_, shape_.rows(), [&](int64_t, int64_t first, int64_t end) {
    Vectorised([=, x = x.data(), dy = dy.data(), dx = dx.data(), mean = statistics.mean.data(),
                factors = statistics.factors.data(), addends = statistics.addends.data(),
                means = lowest_.data(), slopes = largest_.data(),
                relu = shape_.relu != Relu::kNone] {
      const auto gradient = [=](int64_t at, int64_t c, float given) {
        return factors[c] * (given - means[c] - (x[at + c] - mean[c]) * slopes[c]);
      };
      for (int64_t at = first * channels; at < end * channels; at += channels) {
        if (relu) {
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) {
            const float y = x[at + c] * factors[c] + addends[c];
            const float given = dy[at + c];
            dx[at + c] = gradient(at, c, y > 0 ? given : 0);
          }
        } else {
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) dx[at + c] = gradient(at, c, dy[at + c]);
        }
      }
    });
  });
}

std::string BatchNorm::implementation() const { return LoopsName(); }

}  // namespace fixpoint::kernels
