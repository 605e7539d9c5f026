#include "runtime/kernels/peaks.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/best_rate.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/machine.h"

namespace fixpoint::kernels {
namespace {

// As many chains of operations as hide an instruction's latency.
constexpr int kChains = 12;
constexpr int kRounds = 1 << 18;

// Results go here, so that the loops are not optimised away.
volatile float float_sink;
volatile int32_t integer_sink;

__attribute__((target("avx512f"))) double FloatsOfAvx512() {
  __m512 chains[kChains];
  for (__m512& chain : chains) chain = _mm512_set1_ps(1.0f);
  const __m512 factor = _mm512_set1_ps(0.5f);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& chain : chains) chain = _mm512_fmadd_ps(chain, factor, factor);
  }
  for (const __m512& chain : chains) float_sink = _mm512_cvtss_f32(chain);
  return 2.0 * 16 * kChains * kRounds;
}

__attribute__((target("avx512f,avx512vnni"))) double IntegersOfVnni() {
  __m512i chains[kChains];
  for (__m512i& chain : chains) chain = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& chain : chains) chain = _mm512_dpbusd_epi32(chain, ones, ones);
  }
  for (const __m512i& chain : chains) integer_sink = _mm512_cvtsi512_si32(chain);
  return 2.0 * 64 * kChains * kRounds;
}

__attribute__((target("avx2,avxvnni"))) double IntegersOfAvxVnni() {
  __m256i chains[kChains];
  for (__m256i& chain : chains) chain = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi8(1);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256i& chain : chains) chain = _mm256_dpbusd_avx_epi32(chain, ones, ones);
  }
  for (const __m256i& chain : chains) {
    integer_sink = _mm_cvtsi128_si32(_mm256_castsi256_si128(chain));
  }
  return 2.0 * 32 * kChains * kRounds;
}

__attribute__((target("avx2"))) double PairsOfAvx2() {
  __m256i chains[kChains];
  for (__m256i& chain : chains) chain = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256i& chain : chains) {
      // Products of what was added up before: the compiler takes none of them out of the loop.
      const __m256i pairs = _mm256_maddubs_epi16(chain, ones);
      chain = _mm256_add_epi32(chain, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (const __m256i& chain : chains) {
    integer_sink = _mm_cvtsi128_si32(_mm256_castsi256_si128(chain));
  }
  return 2.0 * 32 * kChains * kRounds;
}

__attribute__((target("avx2,fma"))) double FloatsOfAvx2() {
  __m256 chains[kChains];
  for (__m256& chain : chains) chain = _mm256_set1_ps(1.0f);
  const __m256 factor = _mm256_set1_ps(0.5f);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256& chain : chains) chain = _mm256_fmadd_ps(chain, factor, factor);
  }
  for (const __m256& chain : chains) float_sink = _mm256_cvtss_f32(chain);
  return 2.0 * 8 * kChains * kRounds;
}

// Read from memory: of constants the compiler computes the result itself.
volatile const float kFactor = 0.5f;

__attribute__((target("sse4.1"))) double FloatsOfSse41() {
  __m128 chains[kChains];
  for (__m128& chain : chains) chain = _mm_set1_ps(kFactor);
  const __m128 factor = _mm_set1_ps(kFactor);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m128& chain : chains) chain = _mm_add_ps(_mm_mul_ps(chain, factor), factor);
  }
  for (const __m128& chain : chains) float_sink = _mm_cvtss_f32(chain);
  return 2.0 * 4 * kChains * kRounds;
}

double IntegerRate(double float_rate) {
  switch (BestProductSet()) {
    case ProductSet::kAvx512Vnni:
      return BestRate(IntegersOfVnni);
    case ProductSet::kAvxVnni:
      // In vectors of AVX-512 it has the same peak, on processors that compute them in halves.
      return BestRate(MimicsAvxVnni() ? IntegersOfVnni : IntegersOfAvxVnni);
    case ProductSet::kPairsOfAvx512:
    case ProductSet::kPairsOfAvx2:
      return BestRate(PairsOfAvx2);
    case ProductSet::kNone:
      break;
  }
  return float_rate;
}

double FloatRate() {
  switch (BestInstructionSet()) {
    case InstructionSet::kAvx512:
      return BestRate(FloatsOfAvx512);
    case InstructionSet::kAvx2:
      return BestRate(FloatsOfAvx2);
    case InstructionSet::kSse41:
      return BestRate(FloatsOfSse41);
  }
  return 0;
}

}  // namespace

Peaks MeasurePeaks() {
  Peaks peaks;
  peaks.float_operations = FloatRate();
  peaks.integer_operations = IntegerRate(peaks.float_operations);
  peaks.bytes = CopyRate(ThisMachine().bytes_beyond_caches(), 1);
  return peaks;
}

}  // namespace fixpoint::kernels
