// The loops of products of codes, element by element.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_LOOPS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/types/span.h"
#include "runtime/kernels/folded_epilogue.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

// Codes as integers: less their zero point. Signed ones are read as unsigned ones, which are larger
// by 128 and so is their zero point, so that one loop is for both.
class CodeFactor {
 public:
  CodeFactor(const uint8_t* codes, bool is_signed, int32_t zero_point)
      : codes_(codes),
        sign_(is_signed ? 128 : 0),
        zero_point_(static_cast<int16_t>(zero_point + sign_)) {}

  const uint8_t* codes() const { return codes_; }
  // The same of other codes.
  CodeFactor Of(const uint8_t* codes) const {
    CodeFactor other = *this;
    other.codes_ = codes;
    return other;
  }
  // 16 bits, which vectors have twice as many of.
  int16_t operator[](int64_t i) const {
    return static_cast<int16_t>(static_cast<uint8_t>(codes_[i] ^ sign_) - zero_point_);
  }

 private:
  const uint8_t* codes_;
  uint8_t sign_;
  int16_t zero_point_;
};

inline void WriteIntegers(CodeFactor factor, absl::Span<int32_t> integers) {
  Vectorised([=, to = integers.data(), size = static_cast<int64_t>(integers.size())] {
    for (int64_t i = 0; i < size; ++i) to[i] = factor[i];
  });
}

// out = float(x * y) * scale. Y is a CodeFactor, or integers that WriteIntegers wrote.
template <typename Y>
void MultiplyToFloats(CodeFactor x, Y y, float scale, absl::Span<float> out) {
  Vectorised([=, to = out.data(), size = static_cast<int64_t>(out.size())] {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      to[i] = static_cast<float>(int32_t{x[i]} * int32_t{y[i]}) * scale;
    }
  });
}

// The end of a folded epilogue, where results are rounded before they are clipped, in 16 bits.
// Rounding keeps the order, so the codes are the same.
class RoundedEpilogue {
 public:
  // Nothing where the epilogue has operands of channels, or zero points that are no codes.
  static std::optional<RoundedEpilogue> Of(const FoldedEpilogue& folded) {
    const bool has_channels =
        folded.bias || folded.bias_factors || folded.factors || folded.addends;
    if (has_channels || !IsCode(folded.zero_point) || !IsCode(folded.residual_zero_point)) {
      return std::nullopt;
    }
    return RoundedEpilogue(folded);
  }

  // Whether results are sure to fit in 16 bits. Not for a scale that is infinite or a NaN.
  bool IsFor(float scale) const {
    constexpr double kMostProduct = 255 * 255;
    constexpr double kMost = 32000;  // beside which there is room for rounding and the zero point
    const double residual = 2 * 255 * std::abs(double{folded_.residual_step});
    return (kMostProduct * std::abs(double{scale}) + residual) * folded_.multiplier <= kMost;
  }

  // As MultiplyToFloats, and the epilogue; codes are written as bytes. REQUIRES: IsFor(scale).
  template <typename Y>
  void Multiply(CodeFactor x, Y y, float scale, absl::Span<uint8_t> out) const {
    if (folded_.residual == FoldedEpilogue::Residual::kNone) {
      MultiplyAs<false>(x, y, scale, out);
    } else {
      MultiplyAs<true>(x, y, scale, out);
    }
  }

 private:
  static bool IsCode(float x) { return x == std::nearbyint(x) && std::abs(x) <= 255; }

  explicit RoundedEpilogue(const FoldedEpilogue& folded) : folded_(folded) {}

  // REQUIRES: within 2^22 of 0.
  static int16_t Rounded(float x) {
    const float rounded = x + 12582912.0f;  // 1.5 * 2^23: the last bit of such a number is 1
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    return static_cast<int16_t>(bits);
  }

  template <bool kHasResidual, typename Y>
  void MultiplyAs(CodeFactor x, Y y, float scale, absl::Span<uint8_t> out) const {
    const CodeFactor residual(out.data(), folded_.residual == FoldedEpilogue::Residual::kInt8,
                              static_cast<int32_t>(folded_.residual_zero_point));
    Vectorised([=, step = folded_.residual_step, multiplier = folded_.multiplier,
                zero_point = Rounded(folded_.zero_point), lowest = Rounded(folded_.lowest),
                highest = Rounded(folded_.highest), to = out.data(),
                size = static_cast<int64_t>(out.size())] {
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) {
        float result = static_cast<float>(int32_t{x[i]} * int32_t{y[i]}) * scale;
        if constexpr (kHasResidual) {
          result = __builtin_fmaf(static_cast<float>(residual[i]), step, result);
        }
        auto code = static_cast<int16_t>(Rounded(result * multiplier) + zero_point);
        code = code > lowest ? code : lowest;
        code = code < highest ? code : highest;
        to[i] = static_cast<uint8_t>(code);
      }
    });
  }

  const FoldedEpilogue folded_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_LOOPS_H_
