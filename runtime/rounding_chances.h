// The numbers by which elements are rounded stochastically (ops/stochastic_codes.h): 16 bits each,
// eight of a block of a RandomStream.

#ifndef FIXPOINT_RUNTIME_ROUNDING_CHANCES_H_
#define FIXPOINT_RUNTIME_ROUNDING_CHANCES_H_

#include <array>
#include <cstdint>

#include "ops/stochastic_codes.h"
#include "runtime/random.h"

namespace fixpoint {

// Groups of elements take the numbers of a group of blocks: the first kBlocksOfGroup elements the
// lower half of the first word of a block each, the next ones the upper half, and so on, so that
// loops over blocks write numbers that lie side by side.
inline constexpr int64_t kBlocksOfGroup = 64;
inline constexpr int64_t kChancesOfGroup = kBlocksOfGroup * 128 / kBitsOfChance;

// The number of element i.
inline uint32_t ChanceOf(const RandomStream& random, int64_t i) {
  const int64_t group = i / kChancesOfGroup;
  const int64_t place = i % kChancesOfGroup;
  const int64_t half = place / kBlocksOfGroup;
  const std::array<uint32_t, 4> words =
      random.Block(static_cast<uint64_t>(group * kBlocksOfGroup + place % kBlocksOfGroup));
  return words[half / 2] >> (half % 2 * kBitsOfChance) & 0xFFFF;
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_ROUNDING_CHANCES_H_
