// The numbers that random ops draw: the generator Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011). A number depends on its place alone, not on those drawn
// before, so that any kernel on any number of threads draws the same.

#ifndef FIXPOINT_RUNTIME_RANDOM_H_
#define FIXPOINT_RUNTIME_RANDOM_H_

#include <array>
#include <cstdint>

namespace fixpoint {

// Applies `kRounds` rounds to a counter under a key. The rounds are unrolled, so that a loop over
// counters can be vectorised.
template <int kRounds = 10>
inline std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  if constexpr (kRounds == 0) {
    return counter;
  } else {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    return Philox4x32<kRounds - 1>(
        {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)},
        {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85});
  }
}

// The numbers of one op in one step. Element i of a tensor takes number i.
class RandomStream {
 public:
  // `op` and `step` distinguish streams that share a seed.
  RandomStream(uint64_t seed, uint32_t op, uint32_t step) : seed_(seed), op_(op), step_(step) {}

  // Four random words, from which numbers are made. Counter words: bits 0 to 31 and 32 to 55 of the
  // index, the latter with the attempt above them, op, step. Key: the seed, its lower word first.
  std::array<uint32_t, 4> Block(uint64_t index, uint32_t attempt = 0) const {
    const uint32_t high = static_cast<uint32_t>(index >> 32) & 0xFFFFFF;
    return Philox4x32({static_cast<uint32_t>(index), high | attempt << 24, op_, step_},
                      {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  }

  // Uniform in [0, 1), a multiple of 2^-24: exact as a float. The upper 24 bits of word i % 4 of
  // block i / 4.
  double Uniform(uint64_t i) const;

  // Normal, with mean 0 and variance 1: Box-Muller on words 2 * (i % 2) and 2 * (i % 2) + 1 of
  // block i / 2.
  double Normal(uint64_t i) const;

  // Normal, truncated to [-2, 2]: the first normal number in that range among blocks i of attempts
  // 0, 1, ...; 0 after 255 attempts, which 1 element in 10^342 would need.
  double TruncatedNormal(uint64_t i) const;

 private:
  uint64_t seed_;
  uint32_t op_;
  uint32_t step_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_RANDOM_H_
