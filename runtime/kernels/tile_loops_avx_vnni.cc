// The loops of tile_loops.h with VNNI in vectors of 256 bits, for processors without AVX-512.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/tile_loops.h"

#define FIXPOINT_LOOPS_TARGET __attribute__((target("avx2,fma,avxvnni")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

#include "runtime/kernels/tile_vectors_256.inc"

constexpr bool kHasVnni = true;
// Of one vector, and of two: twelve sums, the weights of a step, and codes, in 16 registers.
constexpr int kTilePixels[] = {0, 8, 6};

FIXPOINT_LOOPS Integers AddWords(Integers sum, Integers x, Integers y) {
  return _mm256_dpwssd_avx_epi32(sum, x, y);
}
FIXPOINT_LOOPS Integers AddProducts(Integers sum, Integers codes, Integers weights) {
  return _mm256_dpbusd_avx_epi32(sum, codes, weights);
}

#include "runtime/kernels/tile_loops.inc"

}  // namespace

const TileLoops kTileLoopsAvxVnni = {"loops:avx_vnni", kLanes,  kHasVnni,     Interleave,
                                     ToSums,           ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
