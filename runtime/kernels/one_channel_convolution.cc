#include "runtime/kernels/one_channel_convolution.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <numeric>
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

// Windows are unfolded: for each pixel of the output, a lane holds four taps, then the next four.
// The lanes of a vector of sums are elements of the output as they lie in memory, so that none is
// wasted: with six filters a vector has those of a pixel, those of the next one, and four of the
// one after it. Arrays by filter are therefore extended by copies of their beginning, to whole
// vectors: a vector reads them from the filter of its first lane on.

namespace fixpoint::kernels {
namespace {

// The number of vectors of sums that are computed at once, so that instructions need not wait for
// each other.
constexpr int kBlock = 8;

// Every `stride`th code, shifted to be unsigned.
inline void CopyShifted(const uint8_t* from, int64_t stride, int64_t count, uint8_t shift,
                        uint8_t* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride] ^ shift;
}

// Sixteen codes, each as one byte of a lane.
template <int kShift>
FIXPOINT_VNNI __m512i Widen(const uint8_t* codes) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  return _mm512_maskz_slli_epi32(kAllLanes, _mm512_maskz_cvtepu8_epi32(kAllLanes, bytes), kShift);
}

class OneChannelConvolution final : public IntegerSums {
 public:
  OneChannelConvolution(const ConvolutionShape& shape, const SumsProblem& problem)
      : shape_(shape),
        shift_(ShiftToUnsigned(problem.coding.inputs.type)),
        coding_(problem.coding),
        zero_(shift_),
        epilogue_(problem.epilogue),
        output_(problem.output),
        groups_(CeilDivide(shape.taps(), kTaps)),
        period_(std::lcm(shape.filters, kLanes)),
        wrapped_(CeilDivide(shape.filters + kLanes - 1, kLanes) * kLanes),
        filters_(wrapped_),
        pixels_(wrapped_),
        scales_(wrapped_),
        biases_(problem.coding.has_bias ? wrapped_ : 0),
        offsets_(wrapped_),
        wrapped_operands_(problem.epilogue.size(), std::vector<float>(wrapped_)),
        operands_(problem.epilogue.size()),
        phase_(CeilDivide(shape.out_width, kLanes) * kLanes + LastOffset(columns()) / step()),
        line_(phase_ * step()),
        band_rows_(
            std::clamp<int64_t>(ThisMachine().block_bytes() / (groups_ * kTaps * shape.out_width),
                                1, shape.out_height)),
        band_lines_((band_rows_ - 1) * rows().stride + LastOffset(rows()) + 1),
        column_(band_rows_ * shape.out_width + kLanes),
        threads_(GrantedThreads()),
        scratch_(threads_, {std::vector<uint8_t>(band_lines_ * line_),
                            std::vector<uint32_t>(groups_ * column_)}) {
    for (int64_t i = 0; i < wrapped_; ++i) {
      filters_[i] = static_cast<int32_t>(i % shape.filters);
      pixels_[i] = static_cast<int32_t>(i / shape.filters);
    }
    for (int64_t i = 0; i < rows().kernel; ++i) {
      for (int64_t j = 0; j < columns().kernel; ++j) {
        const int64_t column = j * columns().dilation;
        taps_.push_back(i * rows().dilation * line_ + column % step() * phase_ + column / step());
      }
    }
    // Lanes that are multiplied by 0.
    taps_.resize(groups_ * kTaps, 0);
  }

  int64_t packed_bytes() const override {
    return wrapped_ * static_cast<int64_t>(sizeof(int32_t)) + groups_ * wrapped_ * kTaps;
  }

  // Signed codes are shifted to make them unsigned. The shifted code of 0 contributes its
  // value times the sum of the filter's weights to each sum.
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.filter_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const sums = reinterpret_cast<int32_t*>(packed.data());
    auto* const weights = reinterpret_cast<int8_t*>(sums + wrapped_);
    for (int64_t i = 0; i < wrapped_; ++i) {
      const int8_t* const filter = &codes[i % shape_.filters * shape_.taps()];
      int32_t sum = 0;
      for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
        weights[(tap / kTaps * wrapped_ + i) * kTaps + tap % kTaps] = filter[tap];
        sum += filter[tap];
      }
      sums[i] = sum;
    }
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {shape_.input_size(), packed_bytes(), shape_.filters, shape_.output_size()}, epilogue_,
             output_);
    const absl::Span<const uint8_t> inputs = operands.inputs;
    Wrap(operands.scales, absl::MakeSpan(scales_));
    Wrap(operands.bias, absl::MakeSpan(biases_));
    for (size_t i = 0; i < epilogue_.size(); ++i) {
      const bool of_filters = epilogue_[i].is_of_channels();
      if (of_filters) Wrap(operands.epilogue[i], absl::MakeSpan(wrapped_operands_[i]));
      operands_[i] = of_filters ? wrapped_operands_[i] : operands.epilogue[i];
    }
    zero_ = static_cast<uint8_t>(shift_ + operands.zero_point);
    const auto* const sums = reinterpret_cast<const int32_t*>(operands.weights.data());
    FillOffsets({sums, offsets_.size()}, zero_, biases_, absl::MakeSpan(offsets_));
    const Weights weights = {reinterpret_cast<const int8_t*>(sums + wrapped_), offsets_.data()};
    const EpilogueOfLanes epilogue = {scales_.data(), epilogue_, operands_, out};
    const int64_t bands = CeilDivide(shape_.out_height, band_rows_);
    RunOnThreads(threads_, shape_.batch * bands, [&](int thread, int64_t begin, int64_t end) {
      Scratch& scratch = scratch_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % bands * band_rows_;
        const int64_t row_count = std::min(band_rows_, shape_.out_height - y);
        CopyLines(&inputs[i / bands * shape_.height * shape_.width], y, scratch.lines.data());
        Unfold(scratch.lines.data(), row_count, scratch.windows.data());
        Multiply(scratch.windows.data(), weights, row_count * shape_.out_width * shape_.filters,
                 epilogue, (i / bands * shape_.out_height + y) * shape_.out_width * shape_.filters);
      }
    });
  }

  std::string implementation() const override { return "loops:avx512_vnni"; }

 private:
  // The packed weights.
  struct Weights {
    const int8_t* codes;     // [group, wrapped filter, tap]
    const int32_t* offsets;  // of wrapped filters
  };
  // The buffers of a thread.
  struct Scratch {
    std::vector<uint8_t> lines;     // [line, phase of the stride, column]
    std::vector<uint32_t> windows;  // [group of taps, pixel]
  };

  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }
  int64_t step() const { return columns().stride; }
  static int64_t LastOffset(const WindowAxis& axis) { return (axis.kernel - 1) * axis.dilation; }

  // Stores whole vectors, which can be loaded as such before they have reached the cache.
  template <typename T>
  FIXPOINT_VNNI_TARGET void Wrap(absl::Span<const T> of_filters, absl::Span<T> to) const {
    static_assert(sizeof(T) == sizeof(int32_t), "lanes are of 32 bits");
    for (size_t i = 0; i < to.size(); i += kLanes) {
      const __m512i filters = _mm512_loadu_si512(&filters_[i]);
      const __m512i lanes = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), kAllLanes, filters,
                                                        of_filters.data(), sizeof(T));
      _mm512_storeu_si512(&to[i], lanes);
    }
  }

  // The lines of an image that the band from output row `y` on reads, with their padding, so that
  // columns a stride apart lie side by side.
  void CopyLines(const uint8_t* image, int64_t y, uint8_t* lines) const {
    std::memset(lines, zero_, band_lines_ * line_);
    const int64_t top = y * rows().stride - rows().pad_before;
    const int64_t first = std::max<int64_t>(0, -top);
    const int64_t last = std::min(band_lines_, shape_.height - top);
    for (int64_t phase = 0; phase < step(); ++phase) {
      const int64_t left = phase - columns().pad_before;
      const int64_t begin = left < 0 ? CeilDivide(-left, step()) : 0;
      const int64_t end = std::min(phase_, CeilDivide(shape_.width - left, step()));
      for (int64_t i = first; i < last; ++i) {
        CopyShifted(image + (top + i) * shape_.width + left + begin * step(), step(), end - begin,
                    shift_, lines + i * line_ + phase * phase_ + begin);
      }
    }
  }

  // Rows are written in whole vectors; the next row overwrites the surplus.
  FIXPOINT_VNNI_TARGET void Unfold(const uint8_t* lines, int64_t row_count,
                                   uint32_t* windows) const {
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t* const taps = &taps_[g * kTaps];
      for (int64_t row = 0; row < row_count; ++row) {
        const uint8_t* const line = lines + row * rows().stride * line_;
        uint32_t* const to = windows + g * column_ + row * shape_.out_width;
        for (int64_t x = 0; x < shape_.out_width; x += kLanes) {
          const __m512i windows_of_four = _mm512_or_si512(
              _mm512_or_si512(Widen<0>(line + taps[0] + x), Widen<8>(line + taps[1] + x)),
              _mm512_or_si512(Widen<16>(line + taps[2] + x), Widen<24>(line + taps[3] + x)));
          _mm512_storeu_si512(to + x, windows_of_four);
        }
      }
    }
  }

  // Computes `size` elements of a band from `at` on, where the first belongs to the first filter.
  // Vectors a period apart have the same filters in their lanes, and so the same weights.
  FIXPOINT_VNNI_TARGET void Multiply(const uint32_t* windows, const Weights& weights, int64_t size,
                                     const EpilogueOfLanes& epilogue, int64_t at) const {
    int64_t i = 0;
    for (; i + kBlock * period_ <= size; i += kBlock * period_) {
      for (int64_t j = i; j < i + period_; j += kLanes) {
        const PlaceOfLanes place = {j % shape_.filters, at + j, period_, kAllLanes};
        MultiplyVectors<kBlock>(windows + j / shape_.filters, weights, place, epilogue);
      }
    }
    for (; i < size; i += kLanes) {
      const PlaceOfLanes place = {i % shape_.filters, at + i, 0, FirstLanes(size - i)};
      MultiplyVectors<1>(windows + i / shape_.filters, weights, place, epilogue);
    }
  }

  template <int kVectors>
  FIXPOINT_VNNI void MultiplyVectors(const uint32_t* windows, const Weights& weights,
                                     const PlaceOfLanes& place,
                                     const EpilogueOfLanes& epilogue) const {
    const int64_t pixels = period_ / shape_.filters;
    const __m512i pixel_of_lane = _mm512_loadu_si512(&pixels_[place.channel]);
    const int8_t* codes = weights.codes + place.channel * kTaps;
    __m512i sums[kVectors];
    for (__m512i& sum : sums) sum = _mm512_loadu_si512(weights.offsets + place.channel);
    for (int64_t g = 0; g < groups_; ++g, windows += column_, codes += wrapped_ * kTaps) {
      const __m512i group = _mm512_loadu_si512(codes);
      for (int v = 0; v < kVectors; ++v) {
        const __m512i taps = _mm512_maskz_permutexvar_epi32(
            kAllLanes, pixel_of_lane, _mm512_loadu_si512(windows + v * pixels));
        sums[v] = _mm512_dpbusd_epi32(sums[v], taps, group);
      }
    }
    Finish(sums, place, epilogue);
  }

  const ConvolutionShape shape_;
  const uint8_t shift_;
  const SumCoding coding_;
  uint8_t zero_;  // the shifted code of 0 in this run
  const Epilogue epilogue_;
  const OutputType output_;
  const int64_t groups_;  // of taps
  const int64_t period_;  // elements after which the filters in a vector's lanes repeat
  // Arrays by filter, each followed by copies of its beginning.
  const int64_t wrapped_;
  std::vector<int32_t> filters_;
  std::vector<int32_t> pixels_;  // how far a lane's pixel is from that of the first lane
  std::vector<float> scales_;
  std::vector<int32_t> biases_;
  std::vector<int32_t> offsets_;  // the starting values of the sums
  std::vector<std::vector<float>> wrapped_operands_;
  std::vector<absl::Span<const float>> operands_;
  // Bands of rows, copied and unfolded.
  const int64_t phase_;  // columns of a phase of the stride
  const int64_t line_;
  const int64_t band_rows_;
  const int64_t band_lines_;
  std::vector<int64_t> taps_;  // where they lie, from the first one on
  const int64_t column_;       // pixels, as far as a group of taps takes memory
  const int threads_;
  std::vector<Scratch> scratch_;
};

}  // namespace

bool IsForOneChannel(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  return shape != nullptr && shape->channels == 1 && shape->groups == 1 &&
         (shape->filters < kLanes ||
          (shape->window[1].kernel >= kTaps && problem.output == OutputType::kFloat));
}

std::unique_ptr<IntegerSums> PlanOneChannelConvolution(const SumsProblem& problem) {
  return std::make_unique<OneChannelConvolution>(*problem.convolution(), problem);
}

}  // namespace fixpoint::kernels
