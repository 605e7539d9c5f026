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

// Does what Finish (epilogue_lanes.h) does, one vector at a time. REQUIRES: `folded` is that of the
// epilogue, and agrees with kResidual, kHasBias and kHasZeroPoint.
template <FoldedEpilogue::Residual kResidual, bool kHasBias, bool kHasZeroPoint>
struct FinishFolded {
  const FoldedEpilogue& folded;
  const EpilogueOfLanes& epilogue;

  template <int kVectors>
  FIXPOINT_VNNI void operator()(const __m512i (&sums)[kVectors], const PlaceOfLanes& place) const {
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
    const __m512 lowest = _mm512_set1_ps(folded.lowest);
    const __m512 highest = _mm512_set1_ps(folded.highest);
    auto* to = static_cast<uint8_t*>(epilogue.out.data()) + place.element;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v, to += place.distance) {
      __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[v]), scales);
      if constexpr (kHasBias) x = _mm512_mul_ps(_mm512_add_ps(x, bias), bias_factors);
      x = _mm512_add_ps(_mm512_mul_ps(x, factors), addends);
      if constexpr (kResidual != Residual::kNone) {
        const __m512 codes = LoadCodes<kResidual == Residual::kInt8>(to, place.mask);
        const __m512 from_zero = _mm512_sub_ps(codes, _mm512_set1_ps(folded.residual_zero_point));
        x = _mm512_fmadd_ps(from_zero, _mm512_set1_ps(folded.residual_step), x);
      }
      x = _mm512_mul_ps(x, multiplier);
      if constexpr (kHasZeroPoint) {
        x = _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        x = _mm512_add_ps(x, _mm512_set1_ps(folded.zero_point));
      }
      x = _mm512_maskz_max_ps(kAllLanes, x, lowest);
      x = _mm512_maskz_min_ps(kAllLanes, x, highest);
      // Not a branch of StoreCodes: loops of other kernels, which inline that, become slower.
      if (place.mask == FirstLanes(8)) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), RoundToCodes(x));
      } else {
        StoreCodes(x, to, place.mask);
      }
    }
  }

 private:
  // The operands of the stage's channels, or `none` where there is no stage.
  FIXPOINT_VNNI __m512 Operand(std::optional<size_t> stage, __m512 none,
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
  const auto with_bias = [&](auto residual, auto has_bias) {
    if (folded.has_zero_point) {
      use(FinishFolded<residual(), has_bias(), true>{folded, epilogue});
    } else {
      use(FinishFolded<residual(), has_bias(), false>{folded, epilogue});
    }
  };
  const auto with_residual = [&](auto residual) {
    if (folded.bias) {
      with_bias(residual, std::true_type());
    } else {
      with_bias(residual, std::false_type());
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
