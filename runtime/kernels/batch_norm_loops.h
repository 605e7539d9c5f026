// The loops of batch_norm.h, for vectorised.h. Channels lie last; if they are few, several rows of
// the tensor form one wide row, so that there is a vector of elements. Such rows are added up in
// floats, element by element, then in doubles, channel by channel.

#ifndef FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/batch_norm.h"

namespace fixpoint::kernels {

// Adds kRows rows to the sums of a wide row's elements, of x - shift and of its square, and widens
// their smallest and largest values.
struct SumsOfRows {
  static constexpr int kRowsAtOnce = 8;
  const float* x;
  const float* shift;
  float* sums;
  float* squares;
  float* lowest;
  float* largest;

  template <int kRows, int kLanes>
  inline void AddRows(int64_t at, int64_t width, int64_t e) const {
#pragma GCC ivdep
    for (int64_t end = e + kLanes; e < end; ++at, ++e) {
      float sum = 0;
      float square = 0;
      float low = lowest[e];
      float high = largest[e];
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const float value = x[at + row * width];
        const float moved = value - shift[e];
        sum += moved;
        square += moved * moved;
        low = value < low ? value : low;
        high = value > high ? value : high;
      }
      sums[e] += sum;
      squares[e] += square;
      lowest[e] = low;
      largest[e] = high;
    }
  }

  inline void Prefetch(int64_t at) const { __builtin_prefetch(x + at); }
};

// The part of dy that the relu passes. It is a product, as in relu_grad: for a choice, the compiler
// would load dy under a mask, and so after x.
template <bool kHasRelu>
inline float Passed(float y, float dy) {
  return kHasRelu ? dy * (y > 0 ? 1.0f : 0.0f) : dy;
}

// Adds kRows rows to the sums of a wide row's elements: of the dy that the relu passes, and of its
// product with x - mean.
template <bool kHasRelu>
struct GradientSums {
  static constexpr int kRowsAtOnce = 4;
  const float* x;
  const float* dy;
  const float* factors;
  const float* addends;
  const float* mean;
  float* sums;
  float* products;

  template <int kRows, int kLanes>
  inline void AddRows(int64_t at, int64_t width, int64_t e) const {
#pragma GCC ivdep
    for (int64_t end = e + kLanes; e < end; ++at, ++e) {
      float sum = 0;
      float product = 0;
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const float value = x[at + row * width];
        const float gradient =
            Passed<kHasRelu>(value * factors[e] + addends[e], dy[at + row * width]);
        sum += gradient;
        product += gradient * (value - mean[e]);
      }
      sums[e] += sum;
      products[e] += product;
    }
  }

  inline void Prefetch(int64_t at) const {
    __builtin_prefetch(x + at);
    __builtin_prefetch(dy + at);
  }
};

// Adds the rows of a piece from `first` to `end` to the sums of `size` elements of wide rows. Whole
// rows are prefetched in the order of memory, well before they are read, because the processor does
// not foresee so many streams at once; a prefetch beyond the end does nothing.
template <typename Sums>
inline void AddAllRows(const Sums& sums, int64_t first, int64_t end, int64_t width, int64_t size) {
  constexpr int kRows = Sums::kRowsAtOnce;
  constexpr int kLanes = 16;
  const bool are_whole = size == width;
  int64_t at = first;
  for (; at + (kRows - 1) * width + size <= end; at += kRows * width) {
    const int64_t next = at + kRows * width;
    int64_t e = 0;
    for (; e + kLanes <= size; e += kLanes) {
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        sums.Prefetch(next + (are_whole ? kRows * e + row * kLanes : row * width + e));
      }
      sums.template AddRows<kRows, kLanes>(at + e, width, e);
    }
    for (; e < size; ++e) sums.template AddRows<kRows, 1>(at + e, width, e);
  }
  for (; at < end; at += width) {
    const int64_t left = std::min(size, end - at);
    int64_t e = 0;
    for (; e + kLanes <= left; e += kLanes) {
      sums.template AddRows<1, kLanes>(at + e, width, e);
    }
    for (; e < left; ++e) sums.template AddRows<1, 1>(at + e, width, e);
  }
}

template <BatchNormShape::Relu kRelu>
inline float Rectified(float y) {
  using Relu = BatchNormShape::Relu;
  if (kRelu == Relu::kOfNumbers) return y > 0 ? y : 0;
  if (kRelu == Relu::kKeepingNan) return y < 0 ? 0 : y;
  return y;
}

// Computes y for a row and calls store(place, y). A row may be several rows of the tensor.
template <BatchNormShape::Relu kRelu, typename Store>
inline void NormalizeRow(const float* x, const float* factors, const float* addends, int64_t at,
                         int64_t size, Store store) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    store(at + i, Rectified<kRelu>(x[at + i] * factors[i] + addends[i]));
  }
}

// The float sums of a piece are relative to its first wide row: relative to a distant origin, the
// squares would lose their digits to rounding. Adds them to the sums of the channels, which are
// relative to `origin`. Each element has been summed over `whole_rows` rows, and the first `rest`
// elements over one more.
struct MovedSums {
  const float* first_row;
  const float* origin;
  int64_t whole_rows;
  int64_t rest;

  inline void AddToChannels(const float* of_elements, const float* squares_of_elements,
                            int64_t size, int64_t channels, double* sums, double* squares) const {
    for (int64_t at = 0; at < size; at += channels) {
      const int64_t count = std::min(channels, size - at);
#pragma GCC ivdep
      for (int64_t c = 0; c < count; ++c) {
        const double rows = static_cast<double>(whole_rows + (at + c < rest ? 1 : 0));
        const double distance = double{first_row[at + c]} - double{origin[c]};
        const double sum = of_elements[at + c];
        sums[c] += sum + rows * distance;
        squares[c] += squares_of_elements[at + c] + distance * (2 * sum + rows * distance);
      }
    }
  }
};

// Adds the sums of a wide row's elements to those of their channels.
inline void AddToChannels(const float* of_elements, int64_t size, int64_t channels, double* sums) {
  for (int64_t at = 0; at < size; at += channels) {
    const int64_t count = std::min(channels, size - at);
#pragma GCC ivdep
    for (int64_t c = 0; c < count; ++c) sums[c] += double{of_elements[at + c]};
  }
}

// Adds the sums of the other pieces to those of the first.
inline void AddPieces(int64_t pieces, int64_t channels, double* sums) {
  for (int64_t at = channels; at < pieces * channels; at += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) sums[c] += sums[at + c];
  }
}

// The smallest value of each channel for kLowest, else the largest, over rows of channels.
template <bool kLowest>
inline void TakeEnds(const float* rows, int64_t size, int64_t channels, float* ends) {
  for (int64_t at = 0; at < size; at += channels) {
    const int64_t count = std::min(channels, size - at);
#pragma GCC ivdep
    for (int64_t c = 0; c < count; ++c) {
      const float value = rows[at + c];
      ends[c] = (kLowest ? value < ends[c] : value > ends[c]) ? value : ends[c];
    }
  }
}

// Computes dx for a row, which may be several rows of the tensor, and calls store(place, element of
// the row, dx).
struct GradientRow {
  const float* x;
  const float* dy;
  const float* factors;
  const float* addends;
  const float* mean;
  const float* means;
  const float* slopes;

  template <bool kHasRelu, typename Store>
  inline void Write(int64_t at, int64_t size, Store store) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const float value = x[at + i];
      const float gradient = Passed<kHasRelu>(value * factors[i] + addends[i], dy[at + i]);
      store(at + i, i, factors[i] * (gradient - means[i] - (value - mean[i]) * slopes[i]));
    }
  }
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_LOOPS_H_
