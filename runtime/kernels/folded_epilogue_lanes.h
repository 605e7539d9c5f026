// The folded epilogue of vectors of sums, for kernels of our own with AVX-512.

#ifndef FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_LANES_H_
#define FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_LANES_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/folded_epilogue.h"

namespace fixpoint::kernels {

// Which operands of channels a folded epilogue has beside the scales.
enum class OfChannels { kNone, kFactorsOrAddends, kBiasToo };

// Which codes it ends in.
enum class OutCodes { kUnsigned, kSigned, kWithZeroPoint };

// Does what Finish (epilogue_lanes.h) does, one vector at a time. REQUIRES: `folded` is that of the
// epilogue, and agrees with kResidual, kOfChannels and kOutCodes.
template <FoldedEpilogue::Residual kResidual, OfChannels kOfChannels, OutCodes kOutCodes>
struct FinishFolded {
  const FoldedEpilogue& folded;
  const EpilogueOfLanes& epilogue;

  template <int kVectors>
  FIXPOINT_AVX512 void operator()(const __m512i (&sums)[kVectors],
                                  const PlaceOfLanes& place) const {
    using Residual = FoldedEpilogue::Residual;
    const __m512 scales = _mm512_maskz_loadu_ps(place.mask, epilogue.scales + place.channel);
    // Neither of these changes a value.
    const __m512 one = _mm512_set1_ps(1);
    const __m512 nothing = _mm512_set1_ps(-0.0f);
    const __m512 bias = Operand(folded.bias, nothing, place);
    const __m512 bias_factors = Operand(folded.bias_factors, one, place);
    const __m512 factors = Operand(folded.factors, one, place);
    const __m512 addends = Operand(folded.addends, nothing, place);
    const __m512 multiplier = _mm512_set1_ps(folded.multiplier);
    const Bounds bounds = CodeBounds();
    auto* to = static_cast<uint8_t*>(epilogue.out.data()) + place.element;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v, to += place.distance) {
      __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[v]), scales);
      if constexpr (kOfChannels == OfChannels::kBiasToo) {
        x = _mm512_mul_ps(_mm512_add_ps(x, bias), bias_factors);
      }
      if constexpr (kOfChannels != OfChannels::kNone) {
        x = _mm512_add_ps(_mm512_mul_ps(x, factors), addends);
      }
      if constexpr (kResidual != Residual::kNone) {
        const __m512 codes = LoadCodes<kResidual == Residual::kInt8>(to, place.mask);
        const __m512 from_zero = _mm512_sub_ps(codes, _mm512_set1_ps(folded.residual_zero_point));
        x = _mm512_fmadd_ps(from_zero, _mm512_set1_ps(folded.residual_step), x);
      }
      x = _mm512_mul_ps(x, multiplier);
      const __m128i codes = RoundedWithin(bounds, x);
      // Not a branch of StoreCodes: loops of other kernels, which inline that, become slower.
      if (place.mask == FirstLanes(8)) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), codes);
      } else {
        StoreCodes(codes, to, place.mask);
      }
    }
  }

 private:
  // In floats, and as the codes that they round to.
  struct Bounds {
    __m512 lowest;
    __m512 highest;
    __m128i lowest_code;
    __m128i highest_code;
  };
  FIXPOINT_AVX512 static __m128i CodeOf(float bound) {
    return _mm_set1_epi8(static_cast<char>(_mm_cvtss_si32(_mm_set_ss(bound))));
  }
  FIXPOINT_AVX512 Bounds CodeBounds() const {
    return {_mm512_set1_ps(folded.lowest), _mm512_set1_ps(folded.highest), CodeOf(folded.lowest),
            CodeOf(folded.highest)};
  }

  // Codes within bounds, the lowest for a NaN. Narrowing saturates, so where nothing is added after
  // rounding, one bound is left to it and to codes. A float beyond 32 bits becomes their sign bit
  // alone: the largest integer without a sign, and the smallest with one.
  FIXPOINT_AVX512 __m128i RoundedWithin(const Bounds& bounds, __m512 x) const {
    if constexpr (kOutCodes == OutCodes::kUnsigned) {
      x = _mm512_maskz_max_ps(kAllLanes, x, bounds.lowest);
      const __m512i rounded = _mm512_maskz_cvtps_epi32(kAllLanes, x);
      return _mm_min_epu8(_mm512_maskz_cvtusepi32_epi8(kAllLanes, rounded), bounds.highest_code);
    } else if constexpr (kOutCodes == OutCodes::kSigned) {
      x = _mm512_maskz_min_ps(kAllLanes, bounds.highest, x);
      const __m512i rounded = _mm512_maskz_cvtps_epi32(kAllLanes, x);
      return _mm_max_epi8(_mm512_maskz_cvtsepi32_epi8(kAllLanes, rounded), bounds.lowest_code);
    } else {
      x = _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      x = _mm512_add_ps(x, _mm512_set1_ps(folded.zero_point));
      x = _mm512_maskz_max_ps(kAllLanes, x, bounds.lowest);
      x = _mm512_maskz_min_ps(kAllLanes, x, bounds.highest);
      return RoundToCodes(x);
    }
  }

  // The operands of the stage's channels, or `none` where there is no stage.
  FIXPOINT_AVX512 __m512 Operand(std::optional<size_t> stage, __m512 none,
                                 const PlaceOfLanes& place) const {
    if (!stage) return none;
    return _mm512_maskz_loadu_ps(place.mask, epilogue.operands[*stage].data() + place.channel);
  }
};

// Calls use(finish) with a function that finishes vectors according to `folded`. Both arguments
// outlive any copy that `use` keeps.
template <typename Use>
void WithFolded(const FoldedEpilogue& folded, const EpilogueOfLanes& epilogue, const Use& use) {
  using Residual = FoldedEpilogue::Residual;
  const auto with_operands = [&](auto residual, auto of_channels) {
    if (folded.has_zero_point) {
      use(FinishFolded<residual(), of_channels(), OutCodes::kWithZeroPoint>{folded, epilogue});
    } else if (epilogue.out.type() == OutputType::kUint8) {
      use(FinishFolded<residual(), of_channels(), OutCodes::kUnsigned>{folded, epilogue});
    } else {
      use(FinishFolded<residual(), of_channels(), OutCodes::kSigned>{folded, epilogue});
    }
  };
  const auto with_residual = [&](auto residual) {
    if (folded.bias) {
      with_operands(residual, std::integral_constant<OfChannels, OfChannels::kBiasToo>());
    } else if (folded.factors || folded.addends) {
      with_operands(residual, std::integral_constant<OfChannels, OfChannels::kFactorsOrAddends>());
    } else {
      with_operands(residual, std::integral_constant<OfChannels, OfChannels::kNone>());
    }
  };
  switch (folded.residual) {
    case Residual::kNone:
      return with_residual(std::integral_constant<Residual, Residual::kNone>());
    case Residual::kUint8:
      return with_residual(std::integral_constant<Residual, Residual::kUint8>());
    case Residual::kInt8:
      return with_residual(std::integral_constant<Residual, Residual::kInt8>());
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_LANES_H_
