// The loops of tile_loops.h with AVX2, where products of codes are added in pairs.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/tile_loops.h"

#define FIXPOINT_LOOPS_TARGET __attribute__((target("avx2,fma")))
#define FIXPOINT_LOOPS FIXPOINT_LOOPS_TARGET __attribute__((always_inline)) inline

namespace fixpoint::kernels {
namespace {

#include "runtime/kernels/tile_vectors_256.inc"

constexpr bool kHasVnni = false;
// Of one vector, and of two: ten sums, the weights of a step, and what is between, in 16 registers.
constexpr int kTilePixels[] = {0, 8, 5};

FIXPOINT_LOOPS Integers AddWords(Integers sum, Integers x, Integers y) {
  return Add(sum, PairsOfWords(x, y));
}
FIXPOINT_LOOPS Integers AddProducts(Integers sum, Integers codes, Integers weights) {
  return AddWords(sum, PairsOfBytes(codes, weights), Repeat16(1));
}

#include "runtime/kernels/tile_loops.inc"

}  // namespace

const TileLoops kTileLoopsAvx2 = {"loops:avx2", kLanes,  kHasVnni,     Interleave,
                                  ToSums,       ToCodes, ThroughStages};

}  // namespace fixpoint::kernels
