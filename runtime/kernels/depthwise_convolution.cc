#include "runtime/kernels/depthwise_convolution.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/threads.h"

// Four lines of an image are interleaved, so that a lane holds four codes of a channel, one below
// the other. One instruction then multiplies them by a column of the filters of sixteen channels.
// Where windows have fewer than four rows and a stride of one line, four lines contain the windows
// of several output rows; the filters are stored once for each of these rows, shifted down.

namespace fixpoint::kernels {
namespace {

constexpr int64_t kCodes = kTaps * kLanes;

// The number of pixels whose sums are computed at once.
constexpr int kBlock = 8;

// What is read, and written as numbers.
bool IsOutOfCache(const ConvolutionShape& shape) {
  return ThisMachine().IsOutOfCache(shape.input_size() +
                                    shape.output_size() * static_cast<int64_t>(sizeof(float)));
}

// The number of output rows whose windows lie in four lines.
int64_t RowsOfFourLines(const WindowAxis& rows) {
  return rows.stride == 1 && rows.dilation == 1 && rows.kernel < kTaps ? kTaps + 1 - rows.kernel
                                                                       : 1;
}

class DepthwiseConvolution final : public IntegerSums {
 public:
  DepthwiseConvolution(const ConvolutionShape& shape, const SumsProblem& problem)
      : shape_(shape),
        shift_(ShiftToUnsigned(problem.coding.inputs.type)),
        coding_(problem.coding),
        zero_(shift_),
        epilogue_(problem.epilogue),
        output_(problem.output),
        groups_(CeilDivide(rows().kernel, kTaps)),
        band_(RowsOfFourLines(rows())),
        padded_channels_(CeilDivide(shape.channels, kLanes) * kLanes),
        row_weights_(groups_ * columns().kernel * padded_channels_ * kTaps),
        image_line_(shape.width * shape.channels),
        no_line_(image_line_),
        offsets_(padded_channels_),
        line_((columns().pad_before + columns().pad_after) * shape.channels + image_line_ + kCodes),
        is_prefetched_(IsOutOfCache(shape)),
        threads_(GrantedThreads()),
        lines_(threads_, std::vector<Lanes>(CeilDivide(groups_ * line_, kLanes))) {}

  int64_t packed_bytes() const override {
    return padded_channels_ * static_cast<int64_t>(sizeof(int32_t)) + band_ * row_weights_;
  }

  // Signed codes are shifted to make them unsigned. The shifted code of 0 contributes its
  // value times the sum of the filter's weights to each sum.
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.filter_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const sums = reinterpret_cast<int32_t*>(packed.data());
    auto* const weights = reinterpret_cast<int8_t*>(sums + padded_channels_);
    const int8_t* code = codes.data();
    for (int64_t c = 0; c < shape_.channels; ++c) {
      int32_t sum = 0;
      for (int64_t i = 0; i < rows().kernel; ++i) {
        for (int64_t j = 0; j < columns().kernel; ++j, ++code) {
          for (int64_t row = 0; row < band_; ++row) {
            const int64_t tap = row + i;
            const int64_t column = tap / kTaps * columns().kernel + j;
            weights[row * row_weights_ + (column * padded_channels_ + c) * kTaps + tap % kTaps] =
                *code;
          }
          sum += *code;
        }
      }
      sums[c] = sum;
    }
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {shape_.input_size(), packed_bytes(), shape_.filters, shape_.output_size()}, epilogue_,
             output_);
    const absl::Span<const uint8_t> inputs = operands.inputs;
    zero_ = static_cast<uint8_t>(shift_ + operands.zero_point);
    if (coding_.inputs.has_zero_point) {
      std::fill(no_line_.begin(), no_line_.end(), static_cast<uint8_t>(operands.zero_point));
    }
    const auto* const sums = reinterpret_cast<const int32_t*>(operands.weights.data());
    FillOffsets({sums, offsets_.size()}, zero_, operands.bias, absl::MakeSpan(offsets_));
    const auto* const weights = reinterpret_cast<const int8_t*>(sums + padded_channels_);
    const EpilogueOfLanes epilogue = {operands.scales.data(), epilogue_, operands.epilogue, out};
    const int64_t bands = CeilDivide(shape_.out_height, band_);
    RunOnThreads(threads_, shape_.batch * bands, [&](int thread, int64_t begin, int64_t end) {
      uint32_t* const lines = lines_[thread].data()->lanes;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / bands;
        const int64_t first = i % bands * band_;
        const int64_t last = std::min(first + band_, shape_.out_height);
        Interleave(&inputs[n * shape_.height * image_line_],
                   first * rows().stride - rows().pad_before, lines);
        for (int64_t y = first; y < last; ++y) {
          Multiply(lines, {weights + (y - first) * row_weights_, offsets_.data()}, epilogue,
                   (n * shape_.out_height + y) * shape_.out_width * shape_.channels);
        }
      }
    });
  }

  std::string implementation() const override { return "loops:avx512_vnni"; }

 private:
  // The packed weights for one row of the band.
  struct Weights {
    const int8_t* codes;  // [group, column, channel, row of the group]
    const int32_t* offsets;
  };

  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }

  // The lines of an image that windows from line `top` on read, with their padding.
  FIXPOINT_VNNI_TARGET void Interleave(const uint8_t* image, int64_t top, uint32_t* lines) const {
    const uint32_t zero = 0x01010101u * zero_;
    const int64_t next_lines = is_prefetched_ ? band_ * rows().stride * image_line_ : 0;
    for (int64_t g = 0; g < groups_; ++g, lines += line_) {
      const uint8_t* taps[kTaps];
      for (int64_t i = 0; i < kTaps; ++i) {
        const int64_t tap = g * kTaps + i;
        const int64_t y = top + tap * rows().dilation;
        const bool is_read = tap < rows().kernel + band_ - 1 && y >= 0 && y < shape_.height;
        taps[i] = is_read ? image + y * image_line_ : no_line_.data();
      }
      uint32_t* const left = lines + columns().pad_before * shape_.channels;
      std::fill(lines, left, zero);
      const __m512i shift = _mm512_set1_epi8(static_cast<char>(shift_));
      const int64_t size = image_line_;
      int64_t at = 0;
      for (; at + kCodes <= size; at += kCodes) {
        if (next_lines > 0) Prefetch(taps, at + next_lines);
        InterleaveCodes(taps, at, ~__mmask64{0}, shift, left + at);
      }
      if (at < size) {
        InterleaveCodes(taps, at, (__mmask64{1} << (size - at)) - 1, shift, left + at);
      }
      std::fill_n(left + image_line_, columns().pad_after * shape_.channels, zero);
    }
  }

  static void Prefetch(const uint8_t* const (&taps)[kTaps], int64_t at) {
    for (const uint8_t* codes : taps) __builtin_prefetch(codes + at);
  }

  // Loads the codes from `at` on that `mask` selects.
  FIXPOINT_VNNI void InterleaveCodes(const uint8_t* const (&taps)[kTaps], int64_t at,
                                     __mmask64 mask, __m512i shift, uint32_t* lanes) const {
    // The unpack instructions work within each quarter of a vector.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i codes[kTaps];
    for (int64_t i = 0; i < kTaps; ++i) {
      const __m512i loaded = _mm512_maskz_loadu_epi8(mask, taps[i] + at);
      codes[i] = _mm512_maskz_permutexvar_epi32(kAllLanes, order, _mm512_xor_si512(loaded, shift));
    }
    const __m512i low = _mm512_unpacklo_epi8(codes[0], codes[1]);
    const __m512i high = _mm512_unpackhi_epi8(codes[0], codes[1]);
    const __m512i next_low = _mm512_unpacklo_epi8(codes[2], codes[3]);
    const __m512i next_high = _mm512_unpackhi_epi8(codes[2], codes[3]);
    _mm512_storeu_si512(lanes, _mm512_unpacklo_epi16(low, next_low));
    _mm512_storeu_si512(lanes + kLanes, _mm512_unpackhi_epi16(low, next_low));
    _mm512_storeu_si512(lanes + 2 * kLanes, _mm512_unpacklo_epi16(high, next_high));
    _mm512_storeu_si512(lanes + 3 * kLanes, _mm512_unpackhi_epi16(high, next_high));
  }

  // Computes a row of the output, from element `at` on.
  FIXPOINT_VNNI_TARGET void Multiply(const uint32_t* lines, const Weights& weights,
                                     const EpilogueOfLanes& epilogue, int64_t at) const {
    if (groups_ == 1 && columns().kernel == 3) {
      MultiplyRow<3>(lines, weights, epilogue, at);
    } else {
      MultiplyRow<0>(lines, weights, epilogue, at);
    }
  }

  template <int kColumns>
  FIXPOINT_VNNI void MultiplyRow(const uint32_t* lines, const Weights& weights,
                                 const EpilogueOfLanes& epilogue, int64_t at) const {
    int64_t x = 0;
    for (; x + kBlock <= shape_.out_width; x += kBlock) {
      MultiplyPixels<kBlock, kColumns>(lines, weights, epilogue, x, at);
    }
    for (; x + 4 <= shape_.out_width; x += 4) {
      MultiplyPixels<4, kColumns>(lines, weights, epilogue, x, at);
    }
    for (; x + 2 <= shape_.out_width; x += 2) {
      MultiplyPixels<2, kColumns>(lines, weights, epilogue, x, at);
    }
    for (; x < shape_.out_width; ++x) {
      MultiplyPixels<1, kColumns>(lines, weights, epilogue, x, at);
    }
  }

  // Computes pixels from `x` of the row on.
  template <int kPixels, int kColumns>
  FIXPOINT_VNNI void MultiplyPixels(const uint32_t* lines, const Weights& weights,
                                    const EpilogueOfLanes& epilogue, int64_t x, int64_t at) const {
    lines += x * columns().stride * shape_.channels;
    at += x * shape_.channels;
    const int64_t next_band = band_ * shape_.out_width * shape_.channels;
    for (int64_t c = 0; c < shape_.channels; c += kLanes) {
      const PlaceOfLanes place = {c, at + c, shape_.channels, FirstLanes(shape_.channels - c)};
      __m512i sums[kPixels];
      for (__m512i& sum : sums) sum = _mm512_loadu_si512(weights.offsets + c);
      AddUp<kPixels, kColumns>(lines + c, weights.codes + c * kTaps, sums);
      if (is_prefetched_) PrefetchOutput<kPixels>(epilogue.out, place, next_band);
      Finish(sums, place, epilogue);
    }
  }

  // Prefetches what is written `ahead` elements later.
  template <int kPixels>
  FIXPOINT_VNNI static void PrefetchOutput(const Output& out, const PlaceOfLanes& place,
                                           int64_t ahead) {
    const int64_t size = out.type() == OutputType::kFloat ? sizeof(float) : sizeof(uint8_t);
    const auto* const bytes = static_cast<const uint8_t*>(out.data());
    for (int p = 0; p < kPixels; ++p) {
      __builtin_prefetch(bytes + (place.element + p * place.distance + ahead) * size, /*rw=*/1);
    }
  }

  // For windows of one group of rows and kColumns columns, or of any size where that is 0.
  template <int kPixels, int kColumns>
  FIXPOINT_VNNI void AddUp(const uint32_t* lines, const int8_t* weights,
                           __m512i (&sums)[kPixels]) const {
    const int64_t step = columns().stride * shape_.channels;
    const int64_t next = columns().dilation * shape_.channels;
    const int64_t next_weights = padded_channels_ * kTaps;
    if constexpr (kColumns > 0) {
      __m512i taps[kColumns];
      for (int j = 0; j < kColumns; ++j) taps[j] = _mm512_loadu_si512(weights + j * next_weights);
      for (int p = 0; p < kPixels; ++p, lines += step) {
        for (int j = 0; j < kColumns; ++j) {
          sums[p] = _mm512_dpbusd_epi32(sums[p], _mm512_loadu_si512(lines + j * next), taps[j]);
        }
      }
    } else {
      for (int64_t g = 0; g < groups_; ++g, lines += line_) {
        for (int64_t j = 0; j < columns().kernel; ++j, weights += next_weights) {
          const __m512i taps = _mm512_loadu_si512(weights);
          const uint32_t* column = lines + j * next;
          for (int p = 0; p < kPixels; ++p, column += step) {
            sums[p] = _mm512_dpbusd_epi32(sums[p], _mm512_loadu_si512(column), taps);
          }
        }
      }
    }
  }

  const ConvolutionShape shape_;
  const uint8_t shift_;
  const SumCoding coding_;
  uint8_t zero_;  // the shifted code of 0 in this run
  const Epilogue epilogue_;
  const OutputType output_;
  const int64_t groups_;  // of four rows of a window
  const int64_t band_;    // rows of the output that are computed from the same lines
  const int64_t padded_channels_;
  const int64_t row_weights_;  // of one row of the band
  const int64_t image_line_;
  std::vector<uint8_t> no_line_;  // a line that is padding
  std::vector<int32_t> offsets_;  // the starting values of the sums
  const int64_t line_;            // interleaved, with its padding
  const bool is_prefetched_;
  const int threads_;
  std::vector<std::vector<Lanes>> lines_;  // of each thread, [group, lane]
};

}  // namespace

bool IsForDepthwise(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  if (shape == nullptr) return false;
  const auto& [rows, columns] = shape->window;
  return shape->groups == shape->channels && shape->filters == shape->channels &&
         ((columns.stride == 1 && shape->out_width >= kBlock) ||
          (rows.kernel <= kTaps && IsOutOfCache(*shape)));
}

std::unique_ptr<IntegerSums> PlanDepthwiseConvolution(const SumsProblem& problem) {
  return std::make_unique<DepthwiseConvolution>(*problem.convolution(), problem);
}

}  // namespace fixpoint::kernels
