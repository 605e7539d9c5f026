// The requantization of vectors of sums, for kernels of our own with AVX-512.

#ifndef FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_LANES_H_
#define FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_LANES_H_

#include <immintrin.h>

#include <cstdint>

#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/requantization.h"

namespace fixpoint::kernels {

// Does with vectors what Finish (epilogue_lanes.h) does, each to its end before the next.
// REQUIRES: `requantization` is that of the epilogue, with that residual, and has a zero point or
// not.
template <Requantization::Residual kResidual, bool kHasZeroPoint>
struct RequantizeLanes {
  const Requantization& requantization;
  const EpilogueOfLanes& epilogue;

  template <int kVectors>
  FIXPOINT_VNNI void operator()(const __m512i (&sums)[kVectors], const PlaceOfLanes& place) const {
    using Residual = Requantization::Residual;
    const Requantization& r = requantization;
    const __m512 scales = _mm512_maskz_loadu_ps(place.mask, epilogue.scales + place.channel);
    // Neither of these changes a number.
    __m512 factors = _mm512_set1_ps(1);
    __m512 addends = _mm512_set1_ps(-0.0f);
    if (r.factors) {
      factors =
          _mm512_maskz_loadu_ps(place.mask, epilogue.operands[*r.factors].data() + place.channel);
    }
    if (r.addends) {
      addends =
          _mm512_maskz_loadu_ps(place.mask, epilogue.operands[*r.addends].data() + place.channel);
    }
    const __m512 multiplier = _mm512_set1_ps(r.multiplier);
    const __m512 lowest = _mm512_set1_ps(r.lowest);
    const __m512 highest = _mm512_set1_ps(r.highest);
    auto* to = static_cast<uint8_t*>(epilogue.out.data()) + place.element;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v, to += place.distance) {
      __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[v]), scales);
      x = _mm512_add_ps(_mm512_mul_ps(x, factors), addends);
      if constexpr (kResidual != Residual::kNone) {
        const __m512 codes = LoadCodes<kResidual == Residual::kInt8>(to, place.mask);
        const __m512 steps = _mm512_sub_ps(codes, _mm512_set1_ps(r.residual_zero_point));
        x = _mm512_fmadd_ps(steps, _mm512_set1_ps(r.residual_step), x);
      }
      x = _mm512_mul_ps(x, multiplier);
      if constexpr (kHasZeroPoint) {
        x = _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        x = _mm512_add_ps(x, _mm512_set1_ps(r.zero_point));
      }
      x = _mm512_maskz_max_ps(kAllLanes, x, lowest);
      x = _mm512_maskz_min_ps(kAllLanes, x, highest);
      StoreCodes(x, to, place.mask);
    }
  }
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_LANES_H_
