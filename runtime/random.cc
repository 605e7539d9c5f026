#include "runtime/random.h"

#include <cmath>

namespace fixpoint {
namespace {

// Makes one normal number from two words of a block.
double BoxMuller(uint32_t a, uint32_t b) {
  constexpr double kTwoPi = 6.283185307179586476925;
  // (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log((a + 1.0) * 0x1p-32));
  return radius * std::cos(kTwoPi * (b * 0x1p-32));
}

}  // namespace

double RandomStream::Uniform(uint64_t i) const { return (Block(i / 4)[i % 4] >> 8) * 0x1p-24; }

double RandomStream::Normal(uint64_t i) const {
  const std::array<uint32_t, 4> words = Block(i / 2);
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
