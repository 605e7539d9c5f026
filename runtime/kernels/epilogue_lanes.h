// The epilogue on vectors of sums, for kernels of our own with AVX-512.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "ops/fixed_point.h"
#include "runtime/kernels/epilogue.h"

// For functions that are called only once it is known that the machine has such instructions.
#define FIXPOINT_AVX512_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define FIXPOINT_VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// For functions that are inlined into functions of a kernel.
#define FIXPOINT_AVX512 FIXPOINT_AVX512_TARGET __attribute__((always_inline)) inline
#define FIXPOINT_VNNI FIXPOINT_VNNI_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {

// The number of sums or elements in a vector.
constexpr int64_t kLanes = 16;

// The number of products that one instruction adds to each sum.
constexpr int64_t kTaps = 4;

// Vectors that lie within one cache line are read and written twice as fast.
struct alignas(64) Lanes {
  uint32_t lanes[kLanes];
};

// A mask for intrinsics whose forms without a mask give warnings in GCC 12.
constexpr __mmask16 kAllLanes = 0xffff;

// The first `count` lanes, or all where there are fewer.
inline __mmask16 FirstLanes(int64_t count) {
  return count < kLanes ? static_cast<__mmask16>((1u << count) - 1) : kAllLanes;
}

// The scales, the stages and the operand of each stage, as in EpilogueOperands.
struct EpilogueOfLanes {
  const float* scales;  // of the channels; null for floats
  absl::Span<const EpilogueStage> stages;
  absl::Span<const absl::Span<const float>> operands;
  Output out;
};

// Vectors of elements that are a fixed distance apart and whose first lanes have one channel.
struct PlaceOfLanes {
  int64_t channel;
  int64_t element;
  int64_t distance;
  __mmask16 mask;  // the lanes that are elements; no operand is read for the others
};

// Loads codes of the output, as floats.
template <bool kIsSigned>
FIXPOINT_AVX512 __m512 LoadCodes(const uint8_t* from, __mmask16 mask) {
  const __m128i codes = mask == kAllLanes ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                                          : _mm_maskz_loadu_epi8(mask, from);
  return _mm512_maskz_cvtepi32_ps(kAllLanes, kIsSigned
                                                 ? _mm512_maskz_cvtepi8_epi32(kAllLanes, codes)
                                                 : _mm512_maskz_cvtepu8_epi32(kAllLanes, codes));
}

// The codes that floats round to.
FIXPOINT_AVX512 __m128i RoundToCodes(__m512 x) {
  return _mm512_maskz_cvtepi32_epi8(kAllLanes, _mm512_maskz_cvtps_epi32(kAllLanes, x));
}

FIXPOINT_AVX512 void StoreCodes(__m128i codes, uint8_t* to, __mmask16 mask) {
  // A store with a mask takes several times as long.
  if (mask == kAllLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), codes);
  } else {
    _mm_mask_storeu_epi8(to, mask, codes);
  }
}

FIXPOINT_AVX512 void StoreFloats(__m512 x, float* to, __mmask16 mask) {
  if (mask == kAllLanes) {
    _mm512_storeu_ps(to, x);
  } else {
    _mm512_mask_storeu_ps(to, mask, x);
  }
}

FIXPOINT_AVX512 void StoreLanes(__m512 x, const Output& out, int64_t at, __mmask16 mask) {
  if (out.type() == OutputType::kFloat) {
    StoreFloats(x, static_cast<float*>(out.data()) + at, mask);
    return;
  }
  constexpr CodeRange kSigned = CodesOfByte(/*is_unsigned=*/false);
  constexpr CodeRange kUnsigned = CodesOfByte(/*is_unsigned=*/true);
  const bool is_signed = out.type() == OutputType::kInt8;
  const float smallest = is_signed ? float{kSigned.smallest} : float{kUnsigned.smallest};
  const float largest = is_signed ? float{kSigned.largest} : float{kUnsigned.largest};
  x = _mm512_maskz_max_ps(kAllLanes, x, _mm512_set1_ps(smallest));
  x = _mm512_maskz_min_ps(kAllLanes, x, _mm512_set1_ps(largest));
  StoreCodes(RoundToCodes(x), static_cast<uint8_t*>(out.data()) + at, mask);
}

// The lower or the upper half of a vector, as FP64.
template <bool kIsUpper>
FIXPOINT_AVX512 __m512d HalfOf(__m512 x) {
  const __m512d bits = _mm512_castps_pd(x);
  const __m256d half = _mm512_maskz_extractf64x4_pd(0xf, bits, kIsUpper ? 1 : 0);
  return _mm512_maskz_cvtps_pd(0xff, _mm256_castpd_ps(half));
}

// FP64 holds x * factor, which is rounded up at ties.
FIXPOINT_AVX512 __m512d ProductRoundedUp(__m512d x, __m512d factor) {
  return _mm512_maskz_roundscale_pd(0xff,
                                    _mm512_add_pd(_mm512_mul_pd(x, factor), _mm512_set1_pd(0.5)),
                                    _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

// One half of RequantizeFloat (ops/fixed_point.h), with its factors divided by the powers of two
// of the second rounding.
template <bool kIsUpper>
FIXPOINT_AVX512 __m256 RequantizeHalf(__m512 sums, __m512 factors, __m512 powers, bool once) {
  const __m512d y = ProductRoundedUp(HalfOf<kIsUpper>(sums), HalfOf<kIsUpper>(factors));
  if (once) return _mm512_maskz_cvtpd_ps(0xff, y);
  const __m512d absolute = _mm512_maskz_max_pd(0xff, y, _mm512_sub_pd(_mm512_setzero_pd(), y));
  const __m512d magnitude = ProductRoundedUp(absolute, HalfOf<kIsUpper>(powers));
  const __mmask8 is_below = _mm512_cmp_pd_mask(y, _mm512_setzero_pd(), _CMP_LT_OQ);
  return _mm512_maskz_cvtpd_ps(
      0xff, _mm512_mask_sub_pd(magnitude, is_below, _mm512_setzero_pd(), magnitude));
}

// RequantizeFloat for each lane.
FIXPOINT_AVX512 __m512 RequantizeLanes(__m512 sums, __m512 factors, bool once) {
  const __m512 most = _mm512_set1_ps(kLargestRequantizedSum);
  sums = _mm512_maskz_max_ps(kAllLanes, sums, _mm512_sub_ps(_mm512_setzero_ps(), most));
  sums = _mm512_maskz_min_ps(kAllLanes, sums, most);
  __m512 powers = _mm512_set1_ps(1);
  if (!once) {
    // 2^min(e, 0), of factor = f * 2^e with f from 1/2 to 1.
    __m512i exponents =
        _mm512_sub_epi32(_mm512_maskz_srli_epi32(kAllLanes, _mm512_castps_si512(factors), 23),
                         _mm512_set1_epi32(126));
    exponents = _mm512_maskz_min_epi32(kAllLanes, exponents, _mm512_setzero_si512());
    const __m512i one = _mm512_set1_epi32(127);
    powers = _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(kAllLanes, _mm512_add_epi32(one, exponents), 23));
    const __m512 inverses = _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(kAllLanes, _mm512_sub_epi32(one, exponents), 23));
    factors = _mm512_mul_ps(factors, inverses);
  }
  const __m256 lower = RequantizeHalf<false>(sums, factors, powers, once);
  const __m256 upper = RequantizeHalf<true>(sums, factors, powers, once);
  __m512d both = _mm512_maskz_insertf64x4(0xff, _mm512_setzero_pd(), _mm256_castps_pd(lower), 0);
  both = _mm512_maskz_insertf64x4(0xff, both, _mm256_castps_pd(upper), 1);
  return _mm512_add_ps(_mm512_castpd_ps(both), _mm512_setzero_ps());
}

// Applies the stages to vectors of floats, which it changes, and stores them.
template <int kVectors>
FIXPOINT_AVX512 void FinishFloats(__m512 (&out)[kVectors], const PlaceOfLanes& place,
                                  const EpilogueOfLanes& epilogue) {
  using Kind = EpilogueStage::Kind;
  const auto* const out_codes = static_cast<const uint8_t*>(epilogue.out.data());
  for (size_t i = 0; i < epilogue.stages.size(); ++i) {
    const EpilogueStage& stage = epilogue.stages[i];
    const float* const operand = epilogue.operands[i].data();
    const __m512 a = _mm512_set1_ps(stage.a);
    const __m512 b = _mm512_set1_ps(stage.b);
    switch (stage.kind) {
      case Kind::kAddChannel: {
        const __m512 added = _mm512_maskz_loadu_ps(place.mask, operand + place.channel);
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_add_ps(out[v], added);
        break;
      }
      case Kind::kMultiplyChannel: {
        const __m512 factors = _mm512_maskz_loadu_ps(place.mask, operand + place.channel);
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_mul_ps(out[v], factors);
        break;
      }
      case Kind::kRequantize: {
        const __m512 factors = _mm512_maskz_loadu_ps(place.mask, operand + place.channel);
        for (int v = 0; v < kVectors; ++v) {
          out[v] = RequantizeLanes(out[v], factors, stage.a == 1);
        }
        break;
      }
      case Kind::kAddElement:
        for (int v = 0; v < kVectors; ++v) {
          const float* const elements = operand + place.element + v * place.distance;
          out[v] = _mm512_add_ps(out[v], _mm512_maskz_loadu_ps(place.mask, elements));
        }
        break;
      case Kind::kAddInt8:
        for (int v = 0; v < kVectors; ++v) {
          const int64_t at = place.element + v * place.distance;
          const __m512 codes = LoadCodes<true>(out_codes + at, place.mask);
          out[v] = _mm512_fmadd_ps(_mm512_sub_ps(codes, b), a, out[v]);
        }
        break;
      case Kind::kAddUint8:
        for (int v = 0; v < kVectors; ++v) {
          const int64_t at = place.element + v * place.distance;
          const __m512 codes = LoadCodes<false>(out_codes + at, place.mask);
          out[v] = _mm512_fmadd_ps(_mm512_sub_ps(codes, b), a, out[v]);
        }
        break;
      case Kind::kMultiply:
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_mul_ps(out[v], a);
        break;
      case Kind::kAdd:
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_add_ps(out[v], a);
        break;
      case Kind::kRound:
        for (int v = 0; v < kVectors; ++v) {
          out[v] = _mm512_maskz_roundscale_ps(kAllLanes, out[v],
                                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        }
        break;
      case Kind::kLeakyRelu:
        for (int v = 0; v < kVectors; ++v) {
          const __mmask16 is_above = _mm512_cmp_ps_mask(out[v], _mm512_setzero_ps(), _CMP_GT_OQ);
          out[v] = _mm512_mask_mul_ps(out[v], static_cast<__mmask16>(~is_above), out[v], a);
        }
        break;
      case Kind::kHardSwish:
        for (int v = 0; v < kVectors; ++v) {
          __m512 line = _mm512_add_ps(_mm512_mul_ps(out[v], a), b);
          line = _mm512_maskz_max_ps(kAllLanes, line, _mm512_setzero_ps());
          line = _mm512_maskz_min_ps(kAllLanes, line, _mm512_set1_ps(1));
          out[v] = _mm512_mul_ps(out[v], line);
        }
        break;
      case Kind::kRelu:
        for (int v = 0; v < kVectors; ++v) {
          out[v] = _mm512_maskz_max_ps(kAllLanes, out[v], _mm512_setzero_ps());
        }
        break;
      case Kind::kClip:
        for (int v = 0; v < kVectors; ++v) {
          out[v] = _mm512_maskz_max_ps(kAllLanes, out[v], a);
          out[v] = _mm512_maskz_min_ps(kAllLanes, out[v], b);
        }
        break;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    StoreLanes(out[v], epilogue.out, place.element + v * place.distance, place.mask);
  }
}

// Applies the epilogue to vectors of sums, and stores them.
template <int kVectors>
FIXPOINT_AVX512 void Finish(const __m512i (&sums)[kVectors], const PlaceOfLanes& place,
                            const EpilogueOfLanes& epilogue) {
  __m512 out[kVectors];
  const __m512 scales = _mm512_maskz_loadu_ps(place.mask, epilogue.scales + place.channel);
  for (int v = 0; v < kVectors; ++v) {
    out[v] = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[v]), scales);
  }
  FinishFloats(out, place, epilogue);
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_
