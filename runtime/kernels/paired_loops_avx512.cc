#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/paired_loops.h"

#define FIXPOINT_LOOPS_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

using Integers = __m512i;
using Floats = __m512;

constexpr int kLanes = 16;

// A mask for intrinsics whose forms without a mask give warnings in GCC 12.
constexpr __mmask16 kAll = 0xffff;
// Fourteen sums, the weights of a step, and what is between, in 32 registers.
constexpr int kMostPixels = 7;

FIXPOINT_LOOPS Integers Load(const void* from) { return _mm512_loadu_si512(from); }
FIXPOINT_LOOPS void Store(Integers x, void* to) { _mm512_storeu_si512(to, x); }
FIXPOINT_LOOPS Integers Repeat(int32_t x) { return _mm512_set1_epi32(x); }
FIXPOINT_LOOPS Integers Repeat16(int16_t x) { return _mm512_set1_epi16(x); }
FIXPOINT_LOOPS Integers Add(Integers x, Integers y) { return _mm512_add_epi32(x, y); }
FIXPOINT_LOOPS Integers And(Integers x, Integers y) { return _mm512_and_si512(x, y); }
FIXPOINT_LOOPS Integers Xor(Integers x, Integers y) { return _mm512_xor_si512(x, y); }
FIXPOINT_LOOPS Integers OddBytes(Integers x) { return _mm512_srli_epi16(x, 8); }
FIXPOINT_LOOPS Integers PairsOfBytes(Integers x, Integers y) { return _mm512_maddubs_epi16(x, y); }
FIXPOINT_LOOPS Integers PairsOfWords(Integers x, Integers y) { return _mm512_madd_epi16(x, y); }

// Bytes of each in turn, as words.
FIXPOINT_LOOPS Integers Interleaved(const uint8_t* first, const uint8_t* second) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm512_cvtepu8_epi16(_mm256_set_m128i(_mm_unpackhi_epi8(x, y), _mm_unpacklo_epi8(x, y)));
}

FIXPOINT_LOOPS Floats LoadFloats(const float* from) { return _mm512_loadu_ps(from); }
FIXPOINT_LOOPS void StoreFloats(Floats x, float* to) { _mm512_storeu_ps(to, x); }
FIXPOINT_LOOPS Floats RepeatFloat(float x) { return _mm512_set1_ps(x); }
FIXPOINT_LOOPS Floats ToFloats(Integers x) { return _mm512_maskz_cvtepi32_ps(kAll, x); }
FIXPOINT_LOOPS Floats Add(Floats x, Floats y) { return _mm512_add_ps(x, y); }
FIXPOINT_LOOPS Floats Subtract(Floats x, Floats y) { return _mm512_sub_ps(x, y); }
FIXPOINT_LOOPS Floats Multiply(Floats x, Floats y) { return _mm512_mul_ps(x, y); }
FIXPOINT_LOOPS Floats MultiplyAdd(Floats x, Floats y, Floats z) { return _mm512_fmadd_ps(x, y, z); }
// A NaN gives the bound.
FIXPOINT_LOOPS Floats AtLeast(Floats x, Floats bound) {
  return _mm512_maskz_max_ps(kAll, x, bound);
}
FIXPOINT_LOOPS Floats AtMost(Floats x, Floats bound) { return _mm512_maskz_min_ps(kAll, x, bound); }
FIXPOINT_LOOPS Floats Round(Floats x) {
  return _mm512_maskz_roundscale_ps(kAll, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// x where it is positive, else y.
FIXPOINT_LOOPS Floats WherePositive(Floats x, Floats y) {
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), x);
}

template <bool kIsSigned>
FIXPOINT_LOOPS Floats LoadCodes(const uint8_t* from) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return ToFloats(kIsSigned ? _mm512_maskz_cvtepi8_epi32(kAll, codes)
                            : _mm512_maskz_cvtepu8_epi32(kAll, codes));
}
// Of floats within the range of codes.
template <bool kIsSigned>
FIXPOINT_LOOPS void StoreCodes(Floats x, uint8_t* to) {
  const __m512i codes = _mm512_maskz_cvtps_epi32(kAll, x);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(kAll, codes));
}

#include "runtime/kernels/paired_loops.inc"

}  // namespace

const PairedLoops kPairedLoopsAvx512 = {"loops:avx512", kLanes,  Interleave,
                                        ToSums,         ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
