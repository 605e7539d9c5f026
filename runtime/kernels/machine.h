// What kernels are tuned to: the machine's caches, asked once, the sizes that follow from them, and
// limits that were measured. How fast each kernel of sums is stands in its row (sums_kernels.cc).

#ifndef FIXPOINT_RUNTIME_KERNELS_MACHINE_H_
#define FIXPOINT_RUNTIME_KERNELS_MACHINE_H_

#include <cstdint>

namespace fixpoint::kernels {

// The data caches that a core sees, in bytes. No result may depend on them: they say how sums of
// integers are cut, and how many elements go through a loop at a time. The shares were chosen on a
// Zen 4, which has what is assumed of a machine that reports nothing.
struct Machine {
  int64_t first_cache = 32 << 10;
  int64_t second_cache = 1 << 20;
  int64_t last_cache = 32 << 20;  // of all cores

  // What a loop keeps in the first cache while operands and results stream by, which take the rest.
  int64_t block_bytes() const { return first_cache / 2; }

  // What a chunk of a tiled convolution reads and writes. Two panels of weights are there too: one
  // that is read, and one that is fetched.
  int64_t chunk_bytes() const { return second_cache * 3 / 8; }

  // What stays in the second cache beside a chunk: more weights than that are fetched ahead.
  int64_t near_bytes() const { return second_cache / 8; }

  // Whether so many bytes stay in the second cache from one step to the next.
  bool IsInCache(double bytes) const { return bytes <= static_cast<double>(second_cache); }
  // Whether so many bytes, read or written once in a run, come from beyond it: of less than twice
  // its size, a part is still there.
  bool IsOutOfCache(int64_t bytes) const { return bytes > 2 * second_cache; }

  // What a copy reads, and writes, if memory is to be measured and no cache.
  int64_t bytes_beyond_caches() const { return 2 * last_cache; }
};

// As the system reports it, within the sizes that processors have.
const Machine& ThisMachine();

// The bytes that a loop reads and writes for each thread that it uses, at least. Waking a thread
// takes 2 us while it spins; in that time another one moves 60 to 150 KB, and a loop on one thread
// has to fetch what the others wrote from their caches.
inline constexpr int64_t kBytesOfThread = int64_t{64} << 10;

// Likewise the products of codes, which take 2 us or more.
inline constexpr int64_t kProductsOfThread = int64_t{512} << 10;

// The parts that a product of floats is cut into, each for one thread, at most, and the products of
// one at least, which take 5 us or more. The machine is not asked: the parts decide the bits.
inline constexpr int64_t kMostParts = 8;
inline constexpr int64_t kProductsOfPart = int64_t{256} << 10;

// The bytes that a step of a piece of a batch may read and write (runtime/executor/pieces.h). The
// machine is not asked, because pieces decide what oneDNN plans, and with that the bits of floats;
// a processor has about that much cache for each core.
inline constexpr int64_t kBytesOfPiece = int64_t{8} << 20;

// Products of one matrix for which our own loops (small_product.h) are faster than oneDNN, which
// takes about a microsecond for this many multiplications, up to twice as long as the loops. With
// shorter sums or more rows the epilogue takes most of the time, and oneDNN is as fast. Measured on
// a Zen 4, as the rows of //benchmarks:sums_kernels_benchmark are.
inline constexpr int64_t kMostSmallProducts = 64 << 10;
inline constexpr int64_t kLeastSmallInner = 64;
inline constexpr int64_t kMostSmallRows = 32;

// The taps with which a convolution is computed in tiles (tiled_sums.h) where there is VNNI, at
// least. With fewer of them the epilogue is nearly all there is. Of ResNet-20's convolutions, those
// of 16, 27 and 32 taps take less time in tiles, on a Zen 4, and nothing is compiled for them.
inline constexpr int64_t kLeastTiledTaps = 16;

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_MACHINE_H_
