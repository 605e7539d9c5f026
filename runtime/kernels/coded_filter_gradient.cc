#include "runtime/kernels/coded_filter_gradient.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "ops/sums_of_codes.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/threads.h"

// A vector is four adjacent pixels of the gradient of 16 filters. The four pixels of a channel that
// a tap multiplies them by are repeated in all lanes: an image lies in planes, a column of windows
// beside the next one, so that they are adjacent. Signed codes of images are made unsigned by a
// shift, of which the sums of the gradient are taken off again.

namespace fixpoint::kernels {
namespace {

constexpr int64_t kPixels = 4;
constexpr int64_t kLanes = 16;
constexpr int kVectors = 2;
constexpr int kTapsAtOnce = 12;  // the sums of which stay in registers

// Images in planes: [channel, row, phase of columns, column of the phase], with their padding.
struct Planes {
  explicit Planes(const ConvolutionShape& shape)
      : stride(shape.window[1].stride),
        rows(shape.height + shape.window[0].pad_before + shape.window[0].pad_after),
        // Vectors of pixels may reach beyond the last window.
        columns(CeilDivide(shape.width + shape.window[1].pad_before + shape.window[1].pad_after,
                           stride) +
                kPixels) {}

  int64_t row_bytes() const { return stride * columns; }
  int64_t plane_bytes() const { return rows * row_bytes(); }
  int64_t Place(int64_t row, int64_t column) const {
    return row * row_bytes() + column % stride * columns + column / stride;
  }

  int64_t stride;
  int64_t rows;
  int64_t columns;
};

// Pixels of a row, `step` bytes apart, whose channels lie side by side.
struct Pixels {
  const uint8_t* codes;
  int64_t step;
  int64_t count;
};

// Puts 16 channels of up to 16 pixels in planes.
void TakeBlock(const Pixels& pixels, uint8_t shift, uint8_t* planes, int64_t plane_bytes) {
  __m128i rows[kLanes];
  __m128i shuffled[kLanes];
  const __m128i shifts = _mm_set1_epi8(static_cast<char>(shift));
  for (int64_t i = 0; i < kLanes; ++i) {
    const uint8_t* const from = pixels.codes + std::min(i, pixels.count - 1) * pixels.step;
    rows[i] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), shifts);
  }
  // Each round moves a bit of a byte's row to its column.
  for (int round = 0; round < 4; ++round) {
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      shuffled[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + kLanes / 2]);
      shuffled[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + kLanes / 2]);
    }
    std::copy(std::begin(shuffled), std::end(shuffled), std::begin(rows));
  }
  for (int64_t c = 0; c < kLanes; ++c)
    std::memcpy(planes + c * plane_bytes, &rows[c], pixels.count);
}

void TakePixels(const Pixels& pixels, int64_t channels, uint8_t shift, uint8_t* planes,
                int64_t plane_bytes) {
  int64_t first = 0;
  for (; first + kLanes <= channels; first += kLanes) {
    for (int64_t i = 0; i < pixels.count; i += kLanes) {
      TakeBlock(
          {pixels.codes + i * pixels.step + first, pixels.step, std::min(kLanes, pixels.count - i)},
          shift, planes + first * plane_bytes + i, plane_bytes);
    }
  }
  for (int64_t c = first; c < channels; ++c) {
    for (int64_t i = 0; i < pixels.count; ++i) {
      planes[c * plane_bytes + i] = pixels.codes[i * pixels.step + c] ^ shift;
    }
  }
}

// Puts four pixels of each filter side by side.
void Interleave(const int8_t* const* pixels, int64_t filters, int8_t* fours) {
  int64_t f = 0;
  for (; f + kLanes <= filters; f += kLanes) {
    __m128i codes[kPixels];
    for (int64_t i = 0; i < kPixels; ++i) {
      codes[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels[i] + f));
    }
    const __m128i pairs[] = {
        _mm_unpacklo_epi8(codes[0], codes[1]), _mm_unpacklo_epi8(codes[2], codes[3]),
        _mm_unpackhi_epi8(codes[0], codes[1]), _mm_unpackhi_epi8(codes[2], codes[3])};
    auto* const to = reinterpret_cast<__m128i*>(fours + f * kPixels);
    for (int half = 0; half < 2; ++half) {
      const __m128i left = pairs[2 * half];
      const __m128i right = pairs[2 * half + 1];
      _mm_storeu_si128(to + 2 * half, _mm_unpacklo_epi16(left, right));
      _mm_storeu_si128(to + 2 * half + 1, _mm_unpackhi_epi16(left, right));
    }
  }
  for (; f < filters; ++f) {
    for (int64_t i = 0; i < kPixels; ++i) fours[f * kPixels + i] = pixels[i][f];
  }
}

struct Loop {
  int64_t rows;
  int64_t row_step;  // of windows, in the planes
  int64_t quads;
  int64_t filters;  // as many as vectors have
};

// Adds to the sums [tap, filter] of kTapsAtOnce taps, from their places in the planes on, those of
// kCount vectors of filters.
template <int kCount>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void AddProducts(
    const Loop& loop, const uint8_t* planes, const int64_t* places, const int8_t* gradient,
    int32_t* const* sums) {
  __m512i added[kTapsAtOnce][kCount];
#pragma GCC unroll 16
  for (int tap = 0; tap < kTapsAtOnce; ++tap) {
#pragma GCC unroll 2
    for (int v = 0; v < kCount; ++v) added[tap][v] = _mm512_setzero_si512();
  }
  for (int64_t row = 0; row < loop.rows; ++row) {
    const uint8_t* pixels = planes + row * loop.row_step;
    for (int64_t quad = 0; quad < loop.quads; ++quad) {
      __m512i factors[kCount];
#pragma GCC unroll 2
      for (int v = 0; v < kCount; ++v) factors[v] = _mm512_loadu_si512(gradient + v * 64);
#pragma GCC unroll 16
      for (int tap = 0; tap < kTapsAtOnce; ++tap) {
        int32_t four;
        std::memcpy(&four, pixels + places[tap], sizeof four);
        const __m512i repeated = _mm512_set1_epi32(four);
#pragma GCC unroll 2
        for (int v = 0; v < kCount; ++v) {
          added[tap][v] = _mm512_dpbusd_epi32(added[tap][v], repeated, factors[v]);
        }
      }
      pixels += kPixels;
      gradient += loop.filters * kPixels;
    }
  }
#pragma GCC unroll 16
  for (int tap = 0; tap < kTapsAtOnce; ++tap) {
    if (sums[tap] == nullptr) continue;
#pragma GCC unroll 2
    for (int v = 0; v < kCount; ++v) {
      int32_t* const to = sums[tap] + v * kLanes;
      _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_loadu_si512(to), added[tap][v]));
    }
  }
}

// The sums over some images.
class Part {
 public:
  Part(const ConvolutionShape& shape, CodeType type)
      : shape_(shape),
        shift_(ShiftToUnsigned(type)),
        planes_(shape),
        quads_(CeilDivide(shape.out_width, kPixels)),
        filters_(CeilDivide(shape.filters, kLanes) * kLanes),
        image_(shape.channels * planes_.plane_bytes() + kPixels, shift_),
        gradient_(shape.out_height * quads_ * filters_ * kPixels),
        sums_(shape.taps() * filters_),
        totals_(sums_.size()),
        of_gradient_(filters_),
        nothing_(filters_) {
    const auto& [rows, columns] = shape.window;
    for (int64_t c = 0; c < shape.channels; ++c) {
      for (int64_t i = 0; i < rows.kernel; ++i) {
        for (int64_t j = 0; j < columns.kernel; ++j) {
          places_.push_back(c * planes_.plane_bytes() +
                            planes_.Place(i * rows.dilation, j * columns.dilation));
        }
      }
    }
  }

  void AddImage(const uint8_t* image, const int8_t* gradient) {
    const int64_t pixels = shape_.out_height * shape_.out_width;
    if (!SumsFit(pixels_ + pixels, kLargestUnsigned * kLargestSigned)) Fold();
    pixels_ += pixels;
    TakeImage(image);
    TakeGradient(gradient);
    const Loop loop = {shape_.out_height, shape_.window[0].stride * planes_.row_bytes(), quads_,
                       filters_};
    const auto taps = static_cast<int64_t>(places_.size());
    for (int64_t first = 0; first < taps; first += kTapsAtOnce) {
      int64_t places[kTapsAtOnce];
      for (int64_t f = 0; f < filters_; f += kVectors * kLanes) {
        int32_t* sums[kTapsAtOnce];
        for (int64_t i = 0; i < kTapsAtOnce; ++i) {
          places[i] = places_[std::min(first + i, taps - 1)];
          sums[i] = first + i < taps ? &sums_[(first + i) * filters_ + f] : nullptr;
        }
        const int8_t* const of_filters = &gradient_[f * kPixels];
        if (f + kLanes < filters_) {
          AddProducts<kVectors>(loop, image_.data(), places, of_filters, sums);
        } else {
          AddProducts<1>(loop, image_.data(), places, of_filters, sums);
        }
      }
    }
  }

  // Adds the sums of tap i and filter f to totals[i * filters + f].
  void AddTo(std::vector<int64_t>* totals) {
    Fold();
    for (int64_t i = 0; i < shape_.taps(); ++i) {
      for (int64_t f = 0; f < shape_.filters; ++f) {
        (*totals)[i * shape_.filters + f] += totals_[i * filters_ + f] - shift_ * of_gradient_[f];
      }
    }
  }

 private:
  void Fold() {
    for (size_t i = 0; i < sums_.size(); ++i) totals_[i] += sums_[i];
    std::fill(sums_.begin(), sums_.end(), 0);
    pixels_ = 0;
  }

  void TakeImage(const uint8_t* image) {
    const int64_t channels = shape_.channels;
    const int64_t stride = planes_.stride;
    const auto& [rows, columns] = shape_.window;
    for (int64_t row = 0; row < shape_.height; ++row) {
      const uint8_t* const from = image + row * shape_.width * channels;
      for (int64_t first = 0; first < std::min(stride, shape_.width); ++first) {
        uint8_t* const to =
            &image_[planes_.Place(row + rows.pad_before, first + columns.pad_before)];
        TakePixels(
            {from + first * channels, stride * channels, CeilDivide(shape_.width - first, stride)},
            channels, shift_, to, planes_.plane_bytes());
      }
    }
  }

  void TakeGradient(const int8_t* gradient) {
    int8_t* to = gradient_.data();
    for (int64_t row = 0; row < shape_.out_height; ++row) {
      for (int64_t quad = 0; quad < quads_; ++quad) {
        const int8_t* pixels[kPixels];
        for (int64_t i = 0; i < kPixels; ++i) {
          const bool is_there = quad * kPixels + i < shape_.out_width;
          pixels[i] = is_there ? gradient : nothing_.data();
          if (is_there) gradient += shape_.filters;
        }
        Interleave(pixels, shape_.filters, to);
        if (shift_ != 0) AddGradient(to);
        to += filters_ * kPixels;
      }
    }
  }

  void AddGradient(const int8_t* fours) {
    for (int64_t f = 0; f < shape_.filters; ++f) {
      for (int64_t i = 0; i < kPixels; ++i) of_gradient_[f] += fours[f * kPixels + i];
    }
  }

  const ConvolutionShape& shape_;
  const uint8_t shift_;
  const Planes planes_;
  const int64_t quads_;
  const int64_t filters_;
  std::vector<int64_t> places_;   // of taps in the planes of the first row of windows
  std::vector<uint8_t> image_;    // planes
  std::vector<int8_t> gradient_;  // [row, four pixels, filter, pixel]; 0 where there are none
  std::vector<int32_t> sums_;     // [tap, filter], of `pixels_` pixels
  std::vector<int64_t> totals_;   // of those before
  std::vector<int64_t> of_gradient_;
  std::vector<int8_t> nothing_;  // of pixels beyond a row
  int64_t pixels_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CodedFilterGradient>> CodedFilterGradient::Plan(
    const ConvolutionShape& shape, CodeType type) {
  if (!HasAvx512Vnni()) return absl::UnimplementedError("no AVX512_VNNI");
  if (shape.groups != 1) return absl::UnimplementedError("a convolution in groups");
  if (!SumsFit(shape.out_height * shape.out_width, kLargestUnsigned * kLargestSigned)) {
    return absl::UnimplementedError("32 bits may not hold the sum over an image");
  }
  return std::unique_ptr<CodedFilterGradient>(new CodedFilterGradient(shape, type));
}

void CodedFilterGradient::Run(absl::Span<const uint8_t> images, absl::Span<const int8_t> gradient,
                              float scale, absl::Span<float> dfilters) {
  CHECK_EQ(static_cast<int64_t>(images.size()), shape_.input_size());
  CHECK_EQ(static_cast<int64_t>(gradient.size()), shape_.output_size());
  CHECK_EQ(static_cast<int64_t>(dfilters.size()), shape_.filter_size());
  const int64_t image_size = images.size() / shape_.batch;
  const int64_t gradient_size = gradient.size() / shape_.batch;
  std::vector<int64_t> totals(shape_.filter_size());
  std::mutex mutex;
  // The totals are integers, so that their order does not matter.
  RunOnThreads(ThreadsFor(shape_.batch, image_size + gradient_size), shape_.batch,
               [&](int, int64_t begin, int64_t end) {
                 Part part(shape_, type_);
                 for (int64_t i = begin; i < end; ++i) {
                   part.AddImage(&images[i * image_size], &gradient[i * gradient_size]);
                 }
                 const std::lock_guard<std::mutex> lock(mutex);
                 part.AddTo(&totals);
               });
  for (int64_t f = 0; f < shape_.filters; ++f) {
    for (int64_t i = 0; i < shape_.taps(); ++i) {
      dfilters[f * shape_.taps() + i] = static_cast<float>(totals[i * shape_.filters + f]) * scale;
    }
  }
}

}  // namespace fixpoint::kernels
