#include "runtime/kernels/pooling.h"

#include <glog/logging.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/pooling_axes.h"

namespace fixpoint::kernels {
namespace {

// The mask's entry for a maximum that belongs to no element.
constexpr int32_t kNowhere = -1;

// Up to four elements of a window, given by where their channels begin.
struct Places {
  int64_t a;
  int64_t b;
  int64_t c;
  int64_t d;
};

// Computes a pixel of the output from elements of its window. `tap` is the number of the first of
// them in the window.
struct Maximum {
  const float* x;
  float* y;
  int32_t* mask;

  template <int kTaps, bool kFirst>
  void Take(Places at, const PoolingPart&, const PoolingPart&, int32_t tap,
            int64_t channels) const {
    const float* const elements = x;
    float* const maxima = y;
    int32_t* const taps = mask;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) {
      float largest = kFirst ? -INFINITY : maxima[i];
      int32_t place = kFirst ? kNowhere : taps[i];
      largest = place == kNowhere ? -INFINITY : largest;
      Raise(elements[at.a + i], tap, &largest, &place);
      if (kTaps > 1) Raise(elements[at.b + i], tap + 1, &largest, &place);
      if (kTaps > 1) Raise(elements[at.c + i], tap + 2, &largest, &place);
      if (kTaps > 1) Raise(elements[at.d + i], tap + 3, &largest, &place);
      maxima[i] = largest > -FLT_MAX ? largest : -FLT_MAX;
      taps[i] = place;
    }
  }

  void Clear(int64_t channels) const {
    std::fill_n(y, channels, -FLT_MAX);
    std::fill_n(mask, channels, kNowhere);
  }

  static void Raise(float x, int32_t tap, float* largest, int32_t* place) {
    *place = x > *largest ? tap : *place;
    *largest = x > *largest ? x : *largest;
  }
};

// Computes a pixel of the image's gradient from a window whose maximum it may have been.
struct MaximumGradient {
  const float* dy;
  const int32_t* mask;
  float* dx;

  template <bool kFirst>
  void Take(int64_t at, const PoolingPart&, const PoolingPart&, int32_t tap,
            int64_t channels) const {
    const float* const whole = dy + at;
    const int32_t* const taps = mask + at;
    float* const gradient = dx;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) {
      const float all = whole[i];
      const float share = taps[i] == tap ? all : 0;
      gradient[i] = kFirst ? share : gradient[i] + share;
    }
  }

  void Clear(int64_t channels) const { std::fill_n(dx, channels, 0.0f); }
};

// The way from one window back to an element of the image that no other window takes.
struct MaximumSpread {
  const float* dy;
  const int32_t* mask;
  float* dx;

  void Give(int64_t at, const PoolingPart&, const PoolingPart&, int32_t tap,
            int64_t channels) const {
    const float* const whole = dy;
    const int32_t* const taps = mask;
    float* const gradient = dx + at;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) {
      const float all = whole[i];
      gradient[i] = taps[i] == tap ? all : 0;
    }
  }
};

float FactorOf(const PoolingPart& rows, const PoolingPart& columns) {
  return static_cast<float>(rows.share * columns.share);
}

struct Average {
  const float* x;
  float* y;

  template <int kTaps, bool kFirst>
  void Take(Places at, const PoolingPart& rows, const PoolingPart& columns, int32_t,
            int64_t channels) const {
    const float factor = FactorOf(rows, columns);
    const float* const elements = x;
    float* const averages = y;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) {
      float sum = elements[at.a + i];
      if (kTaps > 1) sum = (sum + elements[at.b + i]) + (elements[at.c + i] + elements[at.d + i]);
      averages[i] = kFirst ? sum * factor : averages[i] + sum * factor;
    }
  }

  void Clear(int64_t channels) const { std::fill_n(y, channels, 0.0f); }
};

struct AverageGradient {
  const float* dy;
  float* dx;

  template <bool kFirst>
  void Take(int64_t at, const PoolingPart& rows, const PoolingPart& columns, int32_t,
            int64_t channels) const {
    const float factor = FactorOf(rows, columns);
    const float* const whole = dy + at;
    float* const gradient = dx;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) {
      gradient[i] = kFirst ? whole[i] * factor : gradient[i] + whole[i] * factor;
    }
  }

  void Clear(int64_t channels) const { std::fill_n(dx, channels, 0.0f); }
};

struct AverageSpread {
  const float* dy;
  float* dx;

  void Give(int64_t at, const PoolingPart& rows, const PoolingPart& columns, int32_t,
            int64_t channels) const {
    const float factor = FactorOf(rows, columns);
    const float* const whole = dy;
    float* const gradient = dx + at;
#pragma GCC ivdep
    for (int64_t i = 0; i < channels; ++i) gradient[i] = whole[i] * factor;
  }
};

// Walks over the elements of a window, row by row.
class WindowWalk {
 public:
  // An element's channels begin `step` after those of its left neighbour, `row` after those of
  // the one above it.
  WindowWalk(int64_t begin, int64_t columns, int64_t step, int64_t row)
      : at_(begin), columns_(columns), step_(step), to_next_row_(row - columns * step) {}

  int64_t Next() {
    const int64_t at = at_;
    at_ += step_;
    if (++column_ == columns_) {
      column_ = 0;
      at_ += to_next_row_;
    }
    return at;
  }

 private:
  int64_t at_;
  int64_t column_ = 0;
  int64_t columns_;
  int64_t step_;
  int64_t to_next_row_;
};

// How many channels are computed: whole vectors, where reads and writes that begin at these places
// stay inside the tensors. What lies after a pixel's own channels belongs to the next pixels, which
// are written later.
int64_t ComputedChannels(int64_t channels, int64_t last_read, int64_t read_end,
                         int64_t last_written, int64_t written_end) {
  const int64_t whole = (channels + 7) / 8 * 8;
  return last_read + whole <= read_end && last_written + whole <= written_end ? whole : channels;
}

class PlannedPooling : public Pooling {
 public:
  explicit PlannedPooling(const PoolingShape& shape)
      : shape_(shape), axes_(AxesOf(shape)), is_partition_(IsPartition(axes_)) {}

  std::string implementation() const override { return LoopsName(); }

 protected:
  void CheckSizes(size_t input, size_t output, size_t mask) const {
    CHECK_EQ(static_cast<int64_t>(input), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(output), shape_.output_size());
    CHECK_EQ(static_cast<int64_t>(mask), mask_size());
  }

  // Calls f(first, end) with parts of that many rows of all images, of the output or of the input.
  template <typename F>
  void ForEachRows(int64_t rows, F f) const {
    if (rows == 0) return;
    ParallelFor(rows, 4 * (shape_.input_size() + shape_.output_size()) / rows, f);
  }

  // Calls pixel_at(at) for each place of the output and gives it the window, four elements in one
  // pass over the channels where possible; `at` is where the pixel's channels begin.
  template <typename PixelAt>
  void PoolWindows(PixelAt pixel_at) const {
    const auto of_rows = [=, axes = &axes_, shape = shape_](int64_t first, int64_t end) {
      int64_t out_at = first * shape.out_width * shape.channels;
      const int64_t out_end = end * shape.out_width * shape.channels;
      for (int64_t out_row = first; out_row < end; ++out_row) {
        const int64_t n = out_row / shape.out_height;
        const PoolingPart rows = (*axes)[0].parts[out_row % shape.out_height];
        for (const PoolingPart columns : (*axes)[1].parts) {
          const auto input_at = [&](int64_t row, int64_t column) {
            return ((n * shape.height + row) * shape.width + column) * shape.channels;
          };
          const auto pixel = pixel_at(out_at);
          const int64_t channels =
              ComputedChannels(shape.channels, input_at(rows.end - 1, columns.end - 1),
                               shape.input_size(), out_at, out_end);
          const int32_t taps = static_cast<int32_t>(rows.size() * columns.size());
          WindowWalk walk(input_at(rows.begin, columns.begin), columns.size(), shape.channels,
                          shape.width * shape.channels);
          int32_t tap = 0;
          for (; tap + 4 <= taps; tap += 4) {
            const int64_t a = walk.Next();
            const int64_t b = walk.Next();
            const int64_t c = walk.Next();
            const Places places = {a, b, c, walk.Next()};
            if (tap == 0) {
              pixel.template Take<4, true>(places, rows, columns, tap, channels);
            } else {
              pixel.template Take<4, false>(places, rows, columns, tap, channels);
            }
          }
          for (; tap < taps; ++tap) {
            const Places place = {walk.Next(), 0, 0, 0};
            if (tap == 0) {
              pixel.template Take<1, true>(place, rows, columns, tap, channels);
            } else {
              pixel.template Take<1, false>(place, rows, columns, tap, channels);
            }
          }
          if (taps == 0) pixel.Clear(channels);
          out_at += shape.channels;
        }
      }
    };
    ForEachRows(shape_.batch * shape_.out_height, of_rows);
  }

  // The gradient if each place of the image is in one window: calls pixel_at(at) for each place of
  // the output and lets it write to the window.
  template <typename PixelAt>
  void SpreadWindows(PixelAt pixel_at) const {
    const auto of_rows = [=, axes = &axes_, shape = shape_](int64_t first, int64_t end) {
      int64_t out_at = first * shape.out_width * shape.channels;
      for (int64_t out_row = first; out_row < end; ++out_row) {
        const int64_t n = out_row / shape.out_height;
        const PoolingPart rows = (*axes)[0].parts[out_row % shape.out_height];
        for (const PoolingPart columns : (*axes)[1].parts) {
          const auto input_at = [&](int64_t row, int64_t column) {
            return ((n * shape.height + row) * shape.width + column) * shape.channels;
          };
          // The pixels after it in the image's row are written later; the next row may
          // have been.
          const int64_t row_end = input_at(rows.end - 1, shape.width);
          const int64_t channels =
              ComputedChannels(shape.channels, out_at, shape.output_size(),
                               input_at(rows.end - 1, columns.end - 1), row_end);
          const auto pixel = pixel_at(out_at);
          int32_t tap = 0;
          for (int64_t row = rows.begin; row < rows.end; ++row) {
            for (int64_t column = columns.begin; column < columns.end; ++column) {
              pixel.Give(input_at(row, column), rows, columns, tap++, channels);
            }
          }
          out_at += shape.channels;
        }
      }
    };
    ForEachRows(shape_.batch * shape_.out_height, of_rows);
  }

  // The gradient in general: computes each pixel of the image from all places of the output that
  // used it.
  template <typename PixelAt>
  void PoolTakers(PixelAt pixel_at) const {
    const auto of_rows = [=, axes = &axes_, shape = shape_](int64_t first, int64_t end) {
      int64_t image_at = first * shape.width * shape.channels;
      const int64_t image_end = end * shape.width * shape.channels;
      for (int64_t image_row = first; image_row < end; ++image_row) {
        const int64_t n = image_row / shape.height;
        const int64_t row = image_row % shape.height;
        const PoolingTakers by_row = (*axes)[0].takers[row];
        for (int64_t column = 0; column < shape.width; ++column) {
          const PoolingTakers by_column = (*axes)[1].takers[column];
          const auto output_at = [&](int64_t i, int64_t j) {
            return ((n * shape.out_height + i) * shape.out_width + j) * shape.channels;
          };
          const int64_t channels =
              ComputedChannels(shape.channels, output_at(by_row.end - 1, by_column.end - 1),
                               shape.output_size(), image_at, image_end);
          const auto pixel = pixel_at(image_at);
          bool is_first = true;
          for (int64_t i = by_row.begin; i < by_row.end; ++i) {
            const PoolingPart rows = (*axes)[0].parts[i];
            for (int64_t j = by_column.begin; j < by_column.end; ++j) {
              const PoolingPart columns = (*axes)[1].parts[j];
              const int32_t tap = static_cast<int32_t>((row - rows.begin) * columns.size() +
                                                       (column - columns.begin));
              if (is_first) {
                pixel.template Take<true>(output_at(i, j), rows, columns, tap, channels);
              } else {
                pixel.template Take<false>(output_at(i, j), rows, columns, tap, channels);
              }
              is_first = false;
            }
          }
          if (is_first) pixel.Clear(channels);
          image_at += shape.channels;
        }
      }
    };
    ForEachRows(shape_.batch * shape_.height, of_rows);
  }

  const PoolingShape shape_;
  const PoolingAxes axes_;
  const bool is_partition_;
};

class MaxPooling final : public PlannedPooling {
 public:
  using PlannedPooling::PlannedPooling;

  int64_t mask_size() const override { return shape_.output_size(); }

  void Forward(absl::Span<const float> x, absl::Span<float> y,
               absl::Span<int32_t> mask) const override {
    CheckSizes(x.size(), y.size(), mask.size());
    PoolWindows([x = x.data(), y = y.data(), taps = mask.data()](int64_t at) {
      return Maximum{x, y + at, taps + at};
    });
  }

  void Backward(absl::Span<const float> dy, absl::Span<const int32_t> mask,
                absl::Span<float> dx) const override {
    CheckSizes(dx.size(), dy.size(), mask.size());
    if (is_partition_) {
      return SpreadWindows([dy = dy.data(), taps = mask.data(), dx = dx.data()](int64_t at) {
        return MaximumSpread{dy + at, taps + at, dx};
      });
    }
    PoolTakers([dy = dy.data(), taps = mask.data(), dx = dx.data()](int64_t at) {
      return MaximumGradient{dy, taps, dx + at};
    });
  }
};

class AveragePooling final : public PlannedPooling {
 public:
  using PlannedPooling::PlannedPooling;

  int64_t mask_size() const override { return 0; }

  void Forward(absl::Span<const float> x, absl::Span<float> y,
               absl::Span<int32_t> mask) const override {
    CheckSizes(x.size(), y.size(), mask.size());
    PoolWindows([x = x.data(), y = y.data()](int64_t at) { return Average{x, y + at}; });
  }

  void Backward(absl::Span<const float> dy, absl::Span<const int32_t> mask,
                absl::Span<float> dx) const override {
    CheckSizes(dx.size(), dy.size(), mask.size());
    if (is_partition_) {
      return SpreadWindows([dy = dy.data(), dx = dx.data()](int64_t at) {
        return AverageSpread{dy + at, dx};
      });
    }
    PoolTakers([dy = dy.data(), dx = dx.data()](int64_t at) {
      return AverageGradient{dy, dx + at};
    });
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pooling>> Pooling::Plan(PoolingShape shape) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (shape.type == PoolingType::kAverage) return std::make_unique<AveragePooling>(shape);
  const PoolingAxes axes = AxesOf(shape);
  const int64_t taps = LargestPart(axes[0]) * LargestPart(axes[1]);
  if (taps > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a maximum of ", taps, " elements; want up to 2^31 - 1"));
  }
  return std::make_unique<MaxPooling>(shape);
}

}  // namespace fixpoint::kernels
