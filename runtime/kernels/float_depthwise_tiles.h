// Tiles of the output of a depthwise convolution of floats with windows of 3x3, for machines with
// AVX-512: the nine weights and the sums of two rows of pixels stay in registers, so that what a
// row of the image holds is read once for both.

#ifndef FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_TILES_H_
#define FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_TILES_H_

#include <immintrin.h>

#include <cstdint>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue_lanes.h"

namespace fixpoint::kernels {

constexpr int kTapsOfAxis = 3;

// What most epilogues of floats come to: x * factor + addend of its channel, and then, if they are
// bounds, the larger of it and the least, and the smaller of that and the most. A factor may be 1,
// and an addend -0, which change nothing.
struct AffineEpilogue {
  const float* factors;
  const float* addends;
  bool is_bounded;
  float least;
  float most;
};

// An image, its filters, tap by tap, and where its pixels go.
struct DepthwiseImage {
  const ConvolutionShape& shape;
  const float* pixels;
  const float* weights;
  int64_t padded_channels;
  const EpilogueOfLanes& epilogue;
  const AffineEpilogue* affine;  // the same, if it is that
  int64_t first;                 // element of the output
};

// Applies an epilogue of any stages to stored sums of a row. Not inlined, because there are many
// kinds of tiles.
template <int kColumns>
FIXPOINT_AVX512_TARGET __attribute__((noinline)) void FinishColumns(
    const Lanes (&sums)[kColumns], const PlaceOfLanes& place, const EpilogueOfLanes& epilogue) {
  __m512 out[kColumns];
  for (int column = 0; column < kColumns; ++column) {
    out[column] = _mm512_load_ps(sums[column].lanes);
  }
  FinishFloats(out, place, epilogue);
}

// Computes kRows x kColumns pixels of one vector of channels, from (y, x) on. The sums go through a
// window's rows, and in each through its columns. kIsAtEdge: windows may stick out of the image.
template <int kStride, int kRows, int kColumns, bool kIsAtEdge>
FIXPOINT_AVX512 void RunTileOfChannels(const DepthwiseImage& image, int64_t y, int64_t x,
                                       int64_t channel) {
  constexpr int kReadRows = (kRows - 1) * kStride + kTapsOfAxis;
  constexpr int kReadColumns = (kColumns - 1) * kStride + kTapsOfAxis;
  const ConvolutionShape& shape = image.shape;
  const int64_t channels = shape.channels;
  const int64_t top = y * kStride - shape.window[0].pad_before;
  const int64_t left = x * kStride - shape.window[1].pad_before;
  const __mmask16 mask = FirstLanes(channels - channel);
  const float* const from = image.pixels + (top * shape.width + left) * channels + channel;
  // gcc keeps an array in registers only if all its indices are constants.
  __m512 weights[kTapsOfAxis * kTapsOfAxis];
#pragma GCC unroll 9
  for (int tap = 0; tap < kTapsOfAxis * kTapsOfAxis; ++tap) {
    weights[tap] = _mm512_loadu_ps(image.weights + tap * image.padded_channels + channel);
  }
  __m512 sums[kRows][kColumns];
#pragma GCC unroll 2
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int column = 0; column < kColumns; ++column) sums[row][column] = _mm512_setzero_ps();
  }
#pragma GCC unroll 8
  for (int i = 0; i < kReadRows; ++i) {
    if (kIsAtEdge && (top + i < 0 || top + i >= shape.height)) continue;
#pragma GCC unroll 16
    for (int j = 0; j < kReadColumns; ++j) {
      if (kIsAtEdge && (left + j < 0 || left + j >= shape.width)) continue;
      const float* const pixel = from + (i * shape.width + j) * channels;
      const __m512 read = _mm512_maskz_loadu_ps(mask, pixel);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        const int tap_row = i - row * kStride;
        if (tap_row < 0 || tap_row >= kTapsOfAxis) continue;
#pragma GCC unroll 4
        for (int column = 0; column < kColumns; ++column) {
          const int tap_column = j - column * kStride;
          if (tap_column < 0 || tap_column >= kTapsOfAxis) continue;
          sums[row][column] =
              _mm512_fmadd_ps(read, weights[tap_row * kTapsOfAxis + tap_column], sums[row][column]);
        }
      }
    }
  }
  const int64_t line = shape.out_width * channels;
  PlaceOfLanes place = {channel, image.first + y * line + x * channels + channel, channels, mask};
  if (image.affine == nullptr) {
    Lanes stored[kRows][kColumns];
#pragma GCC unroll 2
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int column = 0; column < kColumns; ++column) {
        _mm512_store_ps(stored[row][column].lanes, sums[row][column]);
      }
      FinishColumns<kColumns>(stored[row], place, image.epilogue);
      place.element += line;
    }
    return;
  }
  const AffineEpilogue& affine = *image.affine;
  const __m512 factors = _mm512_maskz_loadu_ps(mask, affine.factors + channel);
  const __m512 addends = _mm512_maskz_loadu_ps(mask, affine.addends + channel);
  const __m512 least = _mm512_set1_ps(affine.least);
  const __m512 most = _mm512_set1_ps(affine.most);
  float* const to = static_cast<float*>(image.epilogue.out.data()) + place.element;
#pragma GCC unroll 2
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int column = 0; column < kColumns; ++column) {
      __m512 out = _mm512_add_ps(_mm512_mul_ps(sums[row][column], factors), addends);
      if (affine.is_bounded) {
        out = _mm512_maskz_max_ps(kAllLanes, out, least);
        out = _mm512_maskz_min_ps(kAllLanes, out, most);
      }
      StoreFloats(out, to + row * line + column * channels, mask);
    }
  }
}

// The same for all channels. Their vectors follow each other, because pixels that are a power of
// two apart would compete for the same lines of a cache.
template <int kStride, int kRows, int kColumns>
FIXPOINT_AVX512_TARGET void RunTile(const DepthwiseImage& image, int64_t y, int64_t x) {
  const ConvolutionShape& shape = image.shape;
  const int64_t top = y * kStride - shape.window[0].pad_before;
  const int64_t left = x * kStride - shape.window[1].pad_before;
  const bool is_inside = top >= 0 && left >= 0 &&
                         top + (kRows - 1) * kStride + kTapsOfAxis <= shape.height &&
                         left + (kColumns - 1) * kStride + kTapsOfAxis <= shape.width;
  if (is_inside) {
    for (int64_t c = 0; c < shape.channels; c += kLanes) {
      RunTileOfChannels<kStride, kRows, kColumns, false>(image, y, x, c);
    }
  } else {
    for (int64_t c = 0; c < shape.channels; c += kLanes) {
      RunTileOfChannels<kStride, kRows, kColumns, true>(image, y, x, c);
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_TILES_H_
