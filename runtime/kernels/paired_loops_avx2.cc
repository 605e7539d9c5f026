#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/paired_loops.h"

#define FIXPOINT_LOOPS_TARGET __attribute__((target("avx2,fma")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

using Integers = __m256i;
using Floats = __m256;

constexpr int kLanes = 8;
// Ten sums, the weights of a step, and what is between, in 16 registers.
constexpr int kMostPixels = 5;

FIXPOINT_LOOPS Integers Load(const void* from) {
  return _mm256_loadu_si256(static_cast<const Integers*>(from));
}
FIXPOINT_LOOPS void Store(Integers x, void* to) {
  _mm256_storeu_si256(static_cast<Integers*>(to), x);
}
FIXPOINT_LOOPS Integers Repeat(int32_t x) { return _mm256_set1_epi32(x); }
FIXPOINT_LOOPS Integers Repeat16(int16_t x) { return _mm256_set1_epi16(x); }
FIXPOINT_LOOPS Integers Add(Integers x, Integers y) { return _mm256_add_epi32(x, y); }
FIXPOINT_LOOPS Integers And(Integers x, Integers y) { return _mm256_and_si256(x, y); }
FIXPOINT_LOOPS Integers Xor(Integers x, Integers y) { return _mm256_xor_si256(x, y); }
FIXPOINT_LOOPS Integers OddBytes(Integers x) { return _mm256_srli_epi16(x, 8); }
FIXPOINT_LOOPS Integers PairsOfBytes(Integers x, Integers y) { return _mm256_maddubs_epi16(x, y); }
FIXPOINT_LOOPS Integers PairsOfWords(Integers x, Integers y) { return _mm256_madd_epi16(x, y); }

// Bytes of each in turn, as words.
FIXPOINT_LOOPS Integers Interleaved(const uint8_t* first, const uint8_t* second) {
  return _mm256_cvtepu8_epi16(
      _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)),
                        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(second))));
}

FIXPOINT_LOOPS Floats LoadFloats(const float* from) { return _mm256_loadu_ps(from); }
FIXPOINT_LOOPS void StoreFloats(Floats x, float* to) { _mm256_storeu_ps(to, x); }
FIXPOINT_LOOPS Floats RepeatFloat(float x) { return _mm256_set1_ps(x); }
FIXPOINT_LOOPS Floats ToFloats(Integers x) { return _mm256_cvtepi32_ps(x); }
FIXPOINT_LOOPS Floats Add(Floats x, Floats y) { return _mm256_add_ps(x, y); }
FIXPOINT_LOOPS Floats Subtract(Floats x, Floats y) { return _mm256_sub_ps(x, y); }
FIXPOINT_LOOPS Floats Multiply(Floats x, Floats y) { return _mm256_mul_ps(x, y); }
FIXPOINT_LOOPS Floats MultiplyAdd(Floats x, Floats y, Floats z) { return _mm256_fmadd_ps(x, y, z); }
// A NaN gives the bound.
FIXPOINT_LOOPS Floats AtLeast(Floats x, Floats bound) { return _mm256_max_ps(x, bound); }
FIXPOINT_LOOPS Floats AtMost(Floats x, Floats bound) { return _mm256_min_ps(x, bound); }
FIXPOINT_LOOPS Floats Round(Floats x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// x where it is positive, else y.
FIXPOINT_LOOPS Floats WherePositive(Floats x, Floats y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}

template <bool kIsSigned>
FIXPOINT_LOOPS Floats LoadCodes(const uint8_t* from) {
  const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(kIsSigned ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes));
}
// Of floats within the range of codes.
template <bool kIsSigned>
FIXPOINT_LOOPS void StoreCodes(Floats x, uint8_t* to) {
  const __m256i codes = _mm256_cvtps_epi32(x);
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                   kIsSigned ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words));
}

#include "runtime/kernels/paired_loops.inc"

}  // namespace

const PairedLoops kPairedLoopsAvx2 = {"loops:avx2", kLanes,  Interleave,
                                      ToSums,       ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
