#include "runtime/kernels/float_depthwise.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/float_depthwise_tiles.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

// The number of pixels whose sums are computed at once.
constexpr int kBlock = 8;

// Rows that are computed at once, by tiles.
constexpr int kRowsOfTiles = 2;
// From this width on tiles of 3 columns are faster than those of 4, which leave fewer narrow ones
// at the end of a row.
constexpr int64_t kWide = 28;

// The epilogue as an affine one, on those operands; nothing if it is none. `ones` and `zeros`: for
// channels without a factor or an addend, 1 and -0.
std::optional<AffineEpilogue> AsAffine(absl::Span<const EpilogueStage> stages,
                                       EpilogueOperands operands, const std::vector<float>& ones,
                                       const std::vector<float>& zeros) {
  using Kind = EpilogueStage::Kind;
  AffineEpilogue affine = {ones.data(), zeros.data(), false, 0, 0};
  size_t i = 0;
  if (i < stages.size() && stages[i].kind == Kind::kMultiplyChannel) {
    affine.factors = operands[i++].data();
  }
  if (i < stages.size() && stages[i].kind == Kind::kAddChannel) {
    affine.addends = operands[i++].data();
  }
  if (i < stages.size() && (stages[i].kind == Kind::kRelu || stages[i].kind == Kind::kClip)) {
    affine.is_bounded = true;
    const bool is_relu = stages[i].kind == Kind::kRelu;
    affine.least = is_relu ? 0 : stages[i].a;
    affine.most = is_relu ? std::numeric_limits<float>::infinity() : stages[i].b;
    ++i;
  }
  if (i < stages.size()) return std::nullopt;
  return affine;
}

bool HasWindowsOfTiles(const ConvolutionShape& shape) {
  const auto& [rows, columns] = shape.window;
  return rows.kernel == kTapsOfAxis && columns.kernel == kTapsOfAxis && rows.dilation == 1 &&
         columns.dilation == 1 && rows.stride == columns.stride &&
         (rows.stride == 1 || rows.stride == 2);
}

// The positions in a window that lie in the image, from `first` to before `last`.
struct Inside {
  int64_t first;
  int64_t last;
};
Inside InsideOf(const WindowAxis& axis, int64_t place, int64_t extent) {
  const int64_t begin = place * axis.stride - axis.pad_before;
  const int64_t first = begin >= 0 ? 0 : CeilDivide(-begin, axis.dilation);
  const int64_t last = begin >= extent ? 0 : CeilDivide(extent - begin, axis.dilation);
  return {first, std::min(axis.kernel, last)};
}

class FloatDepthwise final : public ConvolutionForward, public HasPackedForm {
 public:
  FloatDepthwise(const ConvolutionShape& shape, const Epilogue& epilogue, bool adds_to_output)
      : shape_(shape),
        epilogue_(epilogue),
        adds_to_output_(adds_to_output),
        padded_channels_(CeilDivide(shape.channels, kLanes) * kLanes),
        ones_(shape.channels, 1.f),
        zeros_(shape.channels, -0.f),
        threads_(GrantedThreads()) {
    // Where the windows of all pixels of a block lie in the image.
    while (first_inner_ < shape.out_width && !IsInner(first_inner_)) ++first_inner_;
    end_inner_ = first_inner_;
    while (end_inner_ < shape.out_width && IsInner(end_inner_)) ++end_inner_;
  }

  int64_t packed_bytes() const override {
    return shape_.taps() * padded_channels_ * static_cast<int64_t>(sizeof(float));
  }
  std::string packed_form() const override {
    return absl::StrCat("depthwise ", shape_.taps(), "x", shape_.channels);
  }
  void Pack(absl::Span<const float> filters, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(filters.size()), shape_.filter_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const weights = reinterpret_cast<float*>(packed.data());
    for (int64_t c = 0; c < shape_.channels; ++c) {
      for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
        weights[tap * padded_channels_ + c] = filters[c * shape_.taps() + tap];
      }
    }
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> filters, EpilogueOperands operands,
           absl::Span<float> y) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(filters.size()), packed_bytes());
    CHECK_EQ(static_cast<int64_t>(y.size()), shape_.output_size());
    CHECK_EQ(operands.size(), epilogue_.size());
    operands_.assign(operands.begin(), operands.end());
    for (size_t i = 0; adds_to_output_ && i < operands_.size(); ++i) {
      if (epilogue_[i].kind == EpilogueStage::Kind::kAddElement) operands_[i] = y;
    }
    const EpilogueOfLanes epilogue = {nullptr, epilogue_, operands_, y};
    const auto* const weights = reinterpret_cast<const float*>(filters.data());
    const int64_t image = shape_.height * shape_.width * shape_.channels;
    if (HasWindowsOfTiles(shape_)) {
      RunTiles(x.data(), weights, epilogue);
      return;
    }
    RunOnThreads(threads_, shape_.batch * shape_.out_height, [&](int, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* const from = x.data() + i / shape_.out_height * image;
        RunLine(from, i % shape_.out_height, weights, epilogue,
                i * shape_.out_width * shape_.channels);
      }
    });
  }

  std::string implementation() const override { return "loops:avx512"; }

 private:
  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }

  bool IsInner(int64_t x) const {
    const Inside inside = InsideOf(columns(), x, shape_.width);
    return inside.first == 0 && inside.last == columns().kernel;
  }

  void RunTiles(const float* x, const float* weights, const EpilogueOfLanes& epilogue) const {
    const std::optional<AffineEpilogue> affine = AsAffine(epilogue_, operands_, ones_, zeros_);
    const int64_t pairs = CeilDivide(shape_.out_height, kRowsOfTiles);
    const int64_t in = shape_.height * shape_.width * shape_.channels;
    const int64_t out = shape_.out_height * shape_.out_width * shape_.channels;
    RunOnThreads(threads_, shape_.batch * pairs, [&](int, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / pairs;
        const int64_t y = i % pairs * kRowsOfTiles;
        const DepthwiseImage of = {shape_,           x + image * in, weights,
                                   padded_channels_, epilogue,       affine ? &*affine : nullptr,
                                   image * out};
        const bool is_pair = y + kRowsOfTiles <= shape_.out_height;
        if (rows().stride == 1) {
          is_pair ? RunRows<1, kRowsOfTiles>(of, y) : RunRows<1, 1>(of, y);
        } else {
          is_pair ? RunRows<2, kRowsOfTiles>(of, y) : RunRows<2, 1>(of, y);
        }
      }
    });
  }

  template <int kStride, int kRows>
  void RunRows(const DepthwiseImage& image, int64_t y) const {
    const int64_t width = shape_.out_width;
    int64_t x = 0;
    if (width >= kWide) {
      for (; x + 3 <= width; x += 3) RunTile<kStride, kRows, 3>(image, y, x);
    } else {
      for (; x + 4 <= width; x += 4) RunTile<kStride, kRows, 4>(image, y, x);
    }
    if (width - x == 3) RunTile<kStride, kRows, 3>(image, y, x);
    if (width - x == 2) RunTile<kStride, kRows, 2>(image, y, x);
    if (width - x == 1) RunTile<kStride, kRows, 1>(image, y, x);
  }

  // Computes line `y` of the output of an image, from element `at` on.
  FIXPOINT_AVX512_TARGET void RunLine(const float* image, int64_t y, const float* weights,
                                      const EpilogueOfLanes& epilogue, int64_t at) const {
    const Inside inside = InsideOf(rows(), y, shape_.height);
    const int64_t width = shape_.out_width;
    int64_t x = 0;
    for (; x < first_inner_; ++x) RunPixels<1>(image, y, x, inside, weights, epilogue, at);
    for (; x + kBlock <= end_inner_; x += kBlock) {
      RunPixels<kBlock>(image, y, x, inside, weights, epilogue, at);
    }
    for (; x + 4 <= end_inner_; x += 4) RunPixels<4>(image, y, x, inside, weights, epilogue, at);
    for (; x < width; ++x) RunPixels<1>(image, y, x, inside, weights, epilogue, at);
  }

  // Computes pixels from `x` of the line on. The sums go through a window's rows, and in each
  // through its columns.
  template <int kPixels>
  FIXPOINT_AVX512 void RunPixels(const float* image, int64_t y, int64_t x, const Inside& lines,
                                 const float* weights, const EpilogueOfLanes& epilogue,
                                 int64_t at) const {
    const int64_t channels = shape_.channels;
    const Inside inside =
        kPixels == 1 ? InsideOf(columns(), x, shape_.width) : Inside{0, columns().kernel};
    const int64_t top = y * rows().stride - rows().pad_before;
    const int64_t left = x * columns().stride - columns().pad_before;
    const int64_t step = columns().stride * channels;
    for (int64_t c = 0; c < channels; c += kLanes) {
      const PlaceOfLanes place = {c, at + x * channels + c, channels, FirstLanes(channels - c)};
      // gcc keeps an array in registers only if all its indices are constants.
      __m512 sums[kPixels];
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) sums[p] = _mm512_setzero_ps();
      for (int64_t i = lines.first; i < lines.last; ++i) {
        const float* const line =
            image + ((top + i * rows().dilation) * shape_.width + left) * channels + c;
        const float* const tap = weights + i * columns().kernel * padded_channels_ + c;
        for (int64_t j = inside.first; j < inside.last; ++j) {
          const __m512 weight = _mm512_loadu_ps(tap + j * padded_channels_);
          const float* pixel = line + j * columns().dilation * channels;
#pragma GCC unroll 8
          for (int p = 0; p < kPixels; ++p, pixel += step) {
            sums[p] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(place.mask, pixel), weight, sums[p]);
          }
        }
      }
      __m512 out[kPixels];
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) out[p] = sums[p];
      FinishFloats(out, place, epilogue);
    }
  }

  const ConvolutionShape shape_;
  const Epilogue epilogue_;
  const bool adds_to_output_;
  const int64_t padded_channels_;
  const std::vector<float> ones_;
  const std::vector<float> zeros_;
  const int threads_;
  int64_t first_inner_ = 0;
  int64_t end_inner_ = 0;
  std::vector<absl::Span<const float>> operands_;  // of a run
};

}  // namespace

bool HasFloatDepthwise(const ConvolutionShape& shape, const Epilogue& epilogue) {
  return BestInstructionSet() == InstructionSet::kAvx512 && shape.channels > 1 &&
         shape.groups == shape.channels && shape.filters == shape.channels &&
         std::none_of(epilogue.begin(), epilogue.end(),
                      [](const EpilogueStage& stage) { return stage.is_of_codes(); });
}

bool IsFasterAsFloatDepthwise(const ConvolutionShape& shape) { return HasWindowsOfTiles(shape); }

std::unique_ptr<ConvolutionForward> PlanFloatDepthwise(const ConvolutionShape& shape,
                                                       const Epilogue& epilogue,
                                                       bool adds_to_output) {
  return std::make_unique<FloatDepthwise>(shape, epilogue, adds_to_output);
}

}  // namespace fixpoint::kernels
