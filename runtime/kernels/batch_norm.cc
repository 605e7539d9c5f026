#include "runtime/kernels/batch_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "absl/status/status.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/batch_norm_loops.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/fake_quantize_loops.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

using Relu = BatchNormShape::Relu;

// The number of rows that Wide() makes.
constexpr int64_t kWideRows = 6;

// The most wide rows in a piece, and the most elements whose sums are kept in float at once; a wide
// row that is longer is a row of the tensor.
constexpr int64_t kRowsOfPiece = 128;
constexpr int64_t kSizeOfSums = 1024;

// The width of a wide row: enough elements for vectors of bytes to pay off.
int64_t WidthOf(int64_t channels) {
  constexpr int64_t kWide = 256;
  return CeilDivide(kWide, channels) * channels;
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
      width_(WidthOf(shape.channels)),
      pieces_(CeilDivide(shape.size(), kRowsOfPiece * width_)),
      sums_(pieces_ * shape.channels),
      products_(sums_.size()),
      lowest_(sums_.size()),
      largest_(sums_.size()),
      wide_(kWideRows * width_) {}

absl::Span<const float> BatchNorm::Wide(int place, absl::Span<const float> of_channels) {
  const absl::Span<float> wide = absl::MakeSpan(wide_).subspan(place * width_, width_);
  for (int64_t at = 0; at < width_; at += shape_.channels) {
    std::copy(of_channels.begin(), of_channels.end(), wide.begin() + at);
  }
  return wide;
}

template <typename F>
void BatchNorm::ForEachPiece(int64_t bytes_of_element, F f) const {
  const int64_t size = shape_.size();
  const int64_t size_of_piece = CeilDivide(CeilDivide(size, width_), pieces_) * width_;
  ParallelFor(pieces_, bytes_of_element * size_of_piece, [=](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * size_of_piece;
      f(piece, first, std::min(size, first + size_of_piece));
    }
  });
}

template <typename F>
void BatchNorm::ForEachWideRow(int64_t bytes_of_element, F f) const {
  ForEachPiece(bytes_of_element, [=, width = width_](int64_t, int64_t first, int64_t end) {
    int64_t at = first;
    for (; at + width <= end; at += width) f(at, width);
    if (at < end) f(at, end - at);
  });
}

template <typename Store>
void BatchNorm::NormalizeAll(absl::Span<const float> x, const BatchStatistics& statistics,
                             Store store) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  ForEachWideRow(8, [=, x = x.data(), factors = Wide(0, statistics.factors).data(),
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
                                 float range, const CodeRange& rule, absl::Span<Code> codes) {
  CHECK_EQ(codes.size(), x.size());
  const float largest = static_cast<float>(rule.largest);
  const float smallest = static_cast<float>(rule.smallest);
  const float multiplier = largest * InverseRange(range);
  if (rule.rounding == QuantSpec::HALF_TO_EVEN) {
    NormalizeAll(x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] =
          As<Code>(CodeOf<QuantSpec::HALF_TO_EVEN>(y, range, multiplier, smallest, largest));
    });
  } else {
    NormalizeAll(x, statistics, [=, codes = codes.data()](int64_t at, float y) {
      codes[at] =
          As<Code>(CodeOf<QuantSpec::HALF_AWAY_FROM_ZERO>(y, range, multiplier, smallest, largest));
    });
  }
}

void BatchNorm::FindStatistics(absl::Span<const float> x, absl::Span<const float> scale,
                               absl::Span<const float> bias, const BatchStatistics& statistics,
                               float* range_of_y) {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  ForEachPiece(4, [=, x = x.data(), width = width_, all_sums = sums_.data(),
                   all_squares = products_.data(), all_lowest = lowest_.data(),
                   all_largest = largest_.data()](int64_t piece, int64_t first, int64_t end) {
    double* const sums = all_sums + piece * channels;
    double* const squares = all_squares + piece * channels;
    float* const lowest = all_lowest + piece * channels;
    float* const largest = all_largest + piece * channels;
    std::fill_n(sums, channels, 0.0);
    std::fill_n(squares, channels, 0.0);
    std::fill_n(lowest, channels, INFINITY);
    std::fill_n(largest, channels, -INFINITY);
    float of_elements[4][kSizeOfSums];
    for (int64_t column = 0; column < width; column += kSizeOfSums) {
      const int64_t size = std::min({kSizeOfSums, width - column, end - first - column});
      const float* const first_row = x + first + column;
      std::fill_n(of_elements[0], size, 0.0f);
      std::fill_n(of_elements[1], size, 0.0f);
      std::fill_n(of_elements[2], size, INFINITY);
      std::fill_n(of_elements[3], size, -INFINITY);
      AddAllRows(
          SumsOfRows{x, first_row, of_elements[0], of_elements[1], of_elements[2], of_elements[3]},
          first + column, end, width, size);
      MovedSums{first_row, x + column, (end - first) / width, (end - first) % width}.AddToChannels(
          of_elements[0], of_elements[1], size, channels, sums + column, squares + column);
      TakeEnds<true>(of_elements[2], size, channels, lowest + column);
      TakeEnds<false>(of_elements[3], size, channels, largest + column);
    }
  });
  Vectorised([=, x = x.data(), scale = scale.data(), bias = bias.data(), pieces = pieces_,
              rows = static_cast<double>(shape_.rows()), epsilon = shape_.epsilon,
              sums = sums_.data(), squares = products_.data(), lowest = lowest_.data(),
              largest = largest_.data(), mean = statistics.mean.data(),
              variance = statistics.variance.data(),
              inverse_deviation = statistics.inverse_deviation.data(),
              factors = statistics.factors.data(), addends = statistics.addends.data()] {
    AddPieces(pieces, channels, sums);
    AddPieces(pieces, channels, squares);
    TakeEnds<true>(lowest, pieces * channels, channels, lowest);
    TakeEnds<false>(largest, pieces * channels, channels, largest);
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const double mean_of_moved = sums[c] / rows;
      const double difference = squares[c] / rows - mean_of_moved * mean_of_moved;
      mean[c] = static_cast<float>(double{x[c]} + mean_of_moved);
      variance[c] = static_cast<float>(difference > 0.0 ? difference : 0.0);
      const float deviation = std::sqrt(variance[c] + epsilon);
      inverse_deviation[c] = 1 / deviation;
      factors[c] = scale[c] / deviation;
      addends[c] = bias[c] - mean[c] * factors[c];
    }
  });
  for (int64_t c = 0; c < channels; ++c) {
    const bool is_held = std::isfinite(products_[c]) && !std::isinf(statistics.variance[c]);
    if (!is_held) FindStatisticsOf(c, x, scale, bias, statistics);
  }
  float range = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (const float end : {lowest_[c], largest_[c]}) {
      const float y = end * statistics.factors[c] + statistics.addends[c];
      const float magnitude = shape_.relu == Relu::kNone ? std::fabs(y) : y;
      if (magnitude > range) range = magnitude;
    }
  }
  *range_of_y = range;
}

void BatchNorm::FindStatisticsOf(int64_t channel, absl::Span<const float> x,
                                 absl::Span<const float> scale, absl::Span<const float> bias,
                                 const BatchStatistics& statistics) const {
  const double rows = static_cast<double>(shape_.rows());
  const int64_t c = channel;
  double mean = 0;
  for (int64_t at = c; at < shape_.size(); at += shape_.channels) mean += x[at] / rows;
  double variance = 0;
  for (int64_t at = c; at < shape_.size(); at += shape_.channels) {
    variance += (x[at] - mean) * (x[at] - mean) / rows;
  }
  const double inverse = 1 / std::sqrt(variance + double{shape_.epsilon});
  statistics.mean[c] = static_cast<float>(mean);
  statistics.variance[c] = static_cast<float>(variance);
  statistics.inverse_deviation[c] = static_cast<float>(inverse);
  statistics.factors[c] = static_cast<float>(scale[c] * inverse);
  statistics.addends[c] = bias[c] - statistics.mean[c] * statistics.factors[c];
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics,
                          absl::Span<float> y) {
  CHECK_EQ(y.size(), x.size());
  NormalizeAll(x, statistics, [y = y.data()](int64_t at, float value) { y[at] = value; });
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRange& rule, absl::Span<int8_t> codes) {
  NormalizeToCodes(x, statistics, range, rule, codes);
}

void BatchNorm::Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                          const CodeRange& rule, absl::Span<uint8_t> codes) {
  CHECK(shape_.relu != Relu::kNone);
  NormalizeToCodes(x, statistics, range, rule, codes);
}

template <bool kHasRelu>
void BatchNorm::SumGradients(absl::Span<const float> x, absl::Span<const float> dy,
                             const BatchStatistics& statistics) {
  const float* const factors = Wide(0, statistics.factors).data();
  const float* const addends = Wide(1, statistics.addends).data();
  const float* const mean = Wide(2, statistics.mean).data();
  ForEachPiece(8, [=, x = x.data(), dy = dy.data(), channels = shape_.channels, width = width_,
                   all_sums = sums_.data(),
                   all_products = products_.data()](int64_t piece, int64_t first, int64_t end) {
    double* const sums = all_sums + piece * channels;
    double* const products = all_products + piece * channels;
    std::fill_n(sums, channels, 0.0);
    std::fill_n(products, channels, 0.0);
    float of_elements[2][kSizeOfSums];
    for (int64_t column = 0; column < width; column += kSizeOfSums) {
      const int64_t size = std::min(kSizeOfSums, width - column);
      std::fill_n(of_elements[0], size, 0.0f);
      std::fill_n(of_elements[1], size, 0.0f);
      AddAllRows(GradientSums<kHasRelu>{x, dy, factors + column, addends + column, mean + column,
                                        of_elements[0], of_elements[1]},
                 first + column, end, width, size);
      AddToChannels(of_elements[0], size, channels, sums + column);
      AddToChannels(of_elements[1], size, channels, products + column);
    }
  });
}

void BatchNorm::FindGradientStatistics(absl::Span<const float> x, absl::Span<const float> dy,
                                       const BatchStatistics& statistics,
                                       const GradientStatistics& of_gradient,
                                       absl::Span<float> dscale, absl::Span<float> dbias) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  CHECK_EQ(dy.size(), x.size());
  shape_.relu != Relu::kNone ? SumGradients<true>(x, dy, statistics)
                             : SumGradients<false>(x, dy, statistics);
  Vectorised(
      [=, channels = shape_.channels, pieces = pieces_, rows = static_cast<double>(shape_.rows()),
       epsilon = double{shape_.epsilon}, sums = sums_.data(), products = products_.data(),
       variance = statistics.variance.data(),
       inverse_deviation = statistics.inverse_deviation.data(), means = of_gradient.means.data(),
       slopes = of_gradient.slopes.data(), dscale = dscale.data(), dbias = dbias.data()] {
        AddPieces(pieces, channels, sums);
        AddPieces(pieces, channels, products);
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) {
          const double inverse = inverse_deviation[c];
          const double squared_deviation =
              std::isinf(variance[c]) ? 1 / (inverse * inverse) : double{variance[c]} + epsilon;
          dbias[c] = static_cast<float>(sums[c]);
          dscale[c] = static_cast<float>(products[c] / std::sqrt(squared_deviation));
          means[c] = static_cast<float>(sums[c] / rows);
          slopes[c] = static_cast<float>(products[c] / rows / squared_deviation);
        }
      });
}

template <typename Store>
void BatchNorm::BackwardAll(absl::Span<const float> x, absl::Span<const float> dy,
                            const BatchStatistics& statistics,
                            const GradientStatistics& of_gradient, Store store) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape_.size());
  CHECK_EQ(dy.size(), x.size());
  const GradientRow row = {x.data(),
                           dy.data(),
                           Wide(0, statistics.factors).data(),
                           Wide(1, statistics.addends).data(),
                           Wide(2, statistics.mean).data(),
                           Wide(3, of_gradient.means).data(),
                           Wide(4, of_gradient.slopes).data()};
  if (shape_.relu != Relu::kNone) {
    ForEachWideRow(12, [=](int64_t at, int64_t size) { row.Write<true>(at, size, store); });
  } else {
    ForEachWideRow(12, [=](int64_t at, int64_t size) { row.Write<false>(at, size, store); });
  }
}

void BatchNorm::Backward(absl::Span<const float> x, absl::Span<const float> dy,
                         const BatchStatistics& statistics, const GradientStatistics& of_gradient,
                         absl::Span<float> dx) {
  CHECK_EQ(dx.size(), x.size());
  BackwardAll(x, dy, statistics, of_gradient,
              [dx = dx.data()](int64_t at, int64_t, float gradient) { dx[at] = gradient; });
}

void BatchNorm::Backward(absl::Span<const float> x, absl::Span<const float> dy,
                         const BatchStatistics& statistics, const GradientStatistics& of_gradient,
                         absl::Span<const float> multipliers, absl::Span<Bfloat16> dx) {
  CHECK_EQ(dx.size(), x.size());
  if (multipliers.empty()) {
    return BackwardAll(
        x, dy, statistics, of_gradient,
        [dx = dx.data()](int64_t at, int64_t, float gradient) { dx[at] = ToBfloat16(gradient); });
  }
  BackwardAll(x, dy, statistics, of_gradient,
              [multipliers = Wide(5, multipliers).data(), dx = dx.data()](int64_t at, int64_t i,
                                                                          float gradient) {
                dx[at] = ToBfloat16(gradient * multipliers[i]);
              });
}

std::string BatchNorm::implementation() const { return LoopsName(); }

}  // namespace fixpoint::kernels
