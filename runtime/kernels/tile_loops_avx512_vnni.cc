// The loops of tile_loops.h with VNNI in vectors of 512 bits.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/tile_loops.h"

#define FIXPOINT_LOOPS_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

#include "runtime/kernels/tile_vectors_512.inc"

constexpr bool kHasVnni = true;
// Of one vector, and of two: fourteen sums, the weights of a step, and what is between, in 32
// registers.
constexpr int kTilePixels[] = {0, 7, 7};

FIXPOINT_LOOPS Integers AddWords(Integers sum, Integers x, Integers y) {
  return _mm512_dpwssd_epi32(sum, x, y);
}
FIXPOINT_LOOPS Integers AddProducts(Integers sum, Integers codes, Integers weights) {
  return _mm512_dpbusd_epi32(sum, codes, weights);
}

#include "runtime/kernels/tile_loops.inc"

}  // namespace

const TileLoops kTileLoopsAvx512Vnni = {
    "loops:avx512_vnni", kLanes, kHasVnni, Interleave, ToSums, ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
