#include "runtime/random.h"

#include <cmath>

namespace fixpoint {
namespace {

// Two of a block's words as one normal number.
double BoxMuller(uint32_t a, uint32_t b) {
  constexpr double kTwoPi = 6.283185307179586476925;
  // (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log((a + 1.0) * 0x1p-32));
  return radius * std::cos(kTwoPi * (b * 0x1p-32));
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr uint64_t kMultiplier[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultiplier[0] * counter[0];
    const uint64_t b = kMultiplier[1] * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kWeyl[0];
    key[1] += kWeyl[1];
  }
  return counter;
}

std::array<uint32_t, 4> RandomStream::Block(uint64_t index, uint32_t attempt) const {
  const uint32_t high = static_cast<uint32_t>(index >> 32) & 0xFFFFFF;
  return Philox4x32({static_cast<uint32_t>(index), high | attempt << 24, op_, step_},
                    {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
}

double RandomStream::Uniform(uint64_t i) const { return (Block(i / 4, 0)[i % 4] >> 8) * 0x1p-24; }

double RandomStream::Normal(uint64_t i) const {
  const std::array<uint32_t, 4> words = Block(i / 2, 0);
  return BoxMuller(words[2 * (i % 2)], words[2 * (i % 2) + 1]);
}

double RandomStream::TruncatedNormal(uint64_t i) const {
  for (uint32_t attempt = 0; attempt < 255; ++attempt) {
    const std::array<uint32_t, 4> words = Block(i, attempt);
    const double normal = BoxMuller(words[0], words[1]);
    if (std::fabs(normal) <= 2) return normal;
  }
  return 0;
}

}  // namespace fixpoint
