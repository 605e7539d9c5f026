// The loops of AVX-VNNI by the instructions of AVX-512 for such vectors, so that processors with
// these run and test them.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/tile_loops.h"

#define FIXPOINT_LOOPS_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512vnni")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

#include "runtime/kernels/tile_vectors_256.inc"

constexpr bool kHasVnni = true;
// Of one vector, and of two: twelve sums, the weights of a step, and codes, in the 16 registers
// that AVX-VNNI has.
constexpr int kTilePixels[] = {0, 8, 6};

FIXPOINT_LOOPS Integers AddWords(Integers sum, Integers x, Integers y) {
  return _mm256_dpwssd_epi32(sum, x, y);
}
FIXPOINT_LOOPS Integers AddProducts(Integers sum, Integers codes, Integers weights) {
  return _mm256_dpbusd_epi32(sum, codes, weights);
}

#include "runtime/kernels/tile_loops.inc"

}  // namespace

const TileLoops kTileLoopsAvx512VlVnni = {
    "loops:avx512vl_vnni", kLanes, kHasVnni, Interleave, ToSums, ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
