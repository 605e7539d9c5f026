#include "runtime/kernels/one_channel_convolution.h"

#include <glog/logging.h>
#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/instruction_set.h"

#define FIXPOINT_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) inline

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

constexpr int64_t kLanes = 16;    // filters of a vector
constexpr int64_t kProducts = 4;  // that one instruction adds to a sum

// For intrinsics that are only then free of warnings in GCC 12.
constexpr __mmask16 kAllLanes = 0xffff;

int64_t RoundUp(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

// A vector of sums on its way out.
struct Lanes {
  const float* scales;
  const EpilogueStage* stages;
  size_t stage_count;
  const absl::Span<const float>* operands;
  int64_t filter;  // of the first lane
  __mmask16 mask;  // of the lanes that are filters
};

// What becomes of the sums of element `at` of the output, and of those behind it.
FIXPOINT_VNNI __m512 Finish(__m512i sums, const Lanes& lanes, int64_t at) {
  __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums),
                           _mm512_maskz_loadu_ps(lanes.mask, lanes.scales + lanes.filter));
  for (size_t i = 0; i < lanes.stage_count; ++i) {
    const EpilogueStage& stage = lanes.stages[i];
    const float* const operand = lanes.operands[i].data();
    switch (stage.kind) {
      case Kind::kAddChannel:
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(lanes.mask, operand + lanes.filter));
        break;
      case Kind::kMultiplyChannel:
        x = _mm512_mul_ps(x, _mm512_maskz_loadu_ps(lanes.mask, operand + lanes.filter));
        break;
      case Kind::kAddElement:
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(lanes.mask, operand + at));
        break;
      case Kind::kRelu:
        x = _mm512_maskz_max_ps(kAllLanes, x, _mm512_setzero_ps());
        break;
      case Kind::kClip:
        x = _mm512_maskz_max_ps(kAllLanes, x, _mm512_set1_ps(stage.a));
        x = _mm512_maskz_min_ps(kAllLanes, x, _mm512_set1_ps(stage.b));
        break;
    }
  }
  return x;
}

FIXPOINT_VNNI __m512i Broadcast(const uint8_t* four_codes) {
  int32_t bits;
  std::memcpy(&bits, four_codes, sizeof bits);
  return _mm512_set1_epi32(bits);
}

class OneChannelConvolution final : public IntegerSums {
 public:
  OneChannelConvolution(const ConvolutionShape& shape, CodeType images, const Epilogue& epilogue)
      : shape_(shape),
        is_signed_(images == CodeType::kInt8),
        epilogue_(epilogue),
        groups_(RoundUp(shape.window[1].kernel, kProducts) / kProducts),
        blocks_(RoundUp(shape.filters, kLanes) / kLanes),
        line_(shape.width + shape.window[1].pad_before + shape.window[1].pad_after),
        lines_(shape.height + shape.window[0].pad_before + shape.window[0].pad_after),
        weights_(blocks_ * kernel_height() * groups_ * kLanes * kProducts),
        offsets_(blocks_ * kLanes),
        // An instruction reads whole groups, also behind the last row.
        padded_(lines_ * line_ + kProducts),
        threads_(omp_get_max_threads()),
        images_(padded_ * threads_) {}

  // Codes of both signs are shifted by 128 to be unsigned, which adds 128 times its weights to a
  // sum.
  absl::Status SetWeights(absl::Span<const int8_t> codes) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.filter_size());
    const int8_t* code = codes.data();
    for (int64_t f = 0; f < shape_.filters; ++f) {
      int32_t sum = 0;
      for (int64_t i = 0; i < kernel_height(); ++i) {
        for (int64_t j = 0; j < shape_.window[1].kernel; ++j, ++code) {
          weights_[PlaceOfWeight(f, i, j)] = *code;
          sum += *code;
        }
      }
      offsets_[f] = is_signed_ ? -128 * sum : 0;
    }
    return absl::OkStatus();
  }

  void Run(absl::Span<const uint8_t> inputs, absl::Span<const float> scales,
           EpilogueOperands operands, absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(inputs.size()), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(scales.size()), shape_.filters);
    CHECK_EQ(static_cast<int64_t>(out.size()), shape_.output_size());
    CHECK_EQ(operands.size(), epilogue_.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t n = 0; n < shape_.batch; ++n) {
      uint8_t* const image = &images_[omp_get_thread_num() * padded_];
      Pad(inputs.data() + n * shape_.height * shape_.width, image);
      for (int64_t block = 0; block < blocks_; ++block) {
        const int64_t filter = block * kLanes;
        const int64_t left = std::min(kLanes, shape_.filters - filter);
        ConvolveImage(image, n,
                      {scales.data(), epilogue_.data(), epilogue_.size(), operands.data(), filter,
                       static_cast<__mmask16>((1u << left) - 1)},
                      out.data());
      }
    }
  }

  std::string implementation() const override { return "loops:avx512_vnni"; }

 private:
  int64_t kernel_height() const { return shape_.window[0].kernel; }

  int64_t PlaceOfWeight(int64_t filter, int64_t row, int64_t column) const {
    const int64_t block = filter / kLanes;
    const int64_t group = (block * kernel_height() + row) * groups_ + column / kProducts;
    return (group * kLanes + filter % kLanes) * kProducts + column % kProducts;
  }

  // Copies an image into one with its padding.
  void Pad(const uint8_t* image, uint8_t* padded) const {
    const uint8_t shift = is_signed_ ? 128 : 0;
    std::memset(padded, shift, padded_);
    padded += shape_.window[0].pad_before * line_ + shape_.window[1].pad_before;
    for (int64_t y = 0; y < shape_.height; ++y, image += shape_.width, padded += line_) {
      for (int64_t x = 0; x < shape_.width; ++x) padded[x] = image[x] ^ shift;
    }
  }

  // One block of filters.
  __attribute__((target("avx512f,avx512bw,avx512vnni"))) void ConvolveImage(const uint8_t* image,
                                                                            int64_t n,
                                                                            const Lanes& lanes,
                                                                            float* out) const {
    const int64_t step = shape_.window[1].stride;
    for (int64_t y = 0; y < shape_.out_height; ++y) {
      const uint8_t* const window = image + y * shape_.window[0].stride * line_;
      const int64_t at =
          ((n * shape_.out_height + y) * shape_.out_width) * shape_.filters + lanes.filter;
      int64_t x = 0;
      for (; x + 8 <= shape_.out_width; x += 8) {
        ConvolvePixels<8>(window + x * step, step, lanes, at + x * shape_.filters, out);
      }
      for (; x + 4 <= shape_.out_width; x += 4) {
        ConvolvePixels<4>(window + x * step, step, lanes, at + x * shape_.filters, out);
      }
      for (; x < shape_.out_width; ++x) {
        ConvolvePixels<1>(window + x * step, step, lanes, at + x * shape_.filters, out);
      }
    }
  }

  template <int kPixels>
  FIXPOINT_VNNI void ConvolvePixels(const uint8_t* window, int64_t step, const Lanes& lanes,
                                    int64_t at, float* out) const {
    __m512i sums[kPixels];
    const __m512i offset = _mm512_loadu_si512(&offsets_[lanes.filter]);
    for (int p = 0; p < kPixels; ++p) sums[p] = offset;
    const int8_t* weights = &weights_[lanes.filter * kernel_height() * groups_ * kProducts];
    for (int64_t i = 0; i < kernel_height(); ++i, window += line_) {
      for (int64_t g = 0; g < groups_; ++g, weights += kLanes * kProducts) {
        const __m512i group = _mm512_loadu_si512(weights);
        for (int p = 0; p < kPixels; ++p) {
          const __m512i codes = Broadcast(window + p * step + g * kProducts);
          sums[p] = _mm512_dpbusd_epi32(sums[p], codes, group);
        }
      }
    }
    for (int p = 0; p < kPixels; ++p) {
      const int64_t pixel = at + p * shape_.filters;
      _mm512_mask_storeu_ps(out + pixel, lanes.mask, Finish(sums[p], lanes, pixel));
    }
  }

  const ConvolutionShape shape_;
  const bool is_signed_;
  const Epilogue epilogue_;
  const int64_t groups_;  // of products, that a row of a window is
  const int64_t blocks_;  // of filters
  const int64_t line_;    // codes of a line of an image with its padding
  const int64_t lines_;
  std::vector<int8_t> weights_;  // [block, row of the window, group, filter, product]
  std::vector<int32_t> offsets_;
  const size_t padded_;  // bytes of an image with its padding
  const int threads_;
  std::vector<uint8_t> images_;  // one for each thread
};

}  // namespace

bool IsForOneChannel(const ConvolutionShape& shape) {
  return HasExactIntegerProducts() && BestInstructionSet() == InstructionSet::kAvx512 &&
         shape.channels == 1 && shape.groups == 1 && shape.window[0].dilation == 1 &&
         shape.window[1].dilation == 1 && shape.window[1].kernel >= kProducts;
}

std::unique_ptr<IntegerSums> PlanOneChannelConvolution(const ConvolutionShape& shape,
                                                       CodeType images, const Epilogue& epilogue) {
  return std::make_unique<OneChannelConvolution>(shape, images, epilogue);
}

}  // namespace fixpoint::kernels
