// The streams of random numbers that data takes beside the ops of a program that is run with the
// same seed (RandomStream). No program has enough ops to collide with them.

#ifndef FIXPOINT_RUNTIME_DATA_RANDOM_STREAMS_H_
#define FIXPOINT_RUNTIME_DATA_RANDOM_STREAMS_H_

#include <cstdint>

namespace fixpoint {

inline constexpr uint32_t kShuffleStream = 0xFFFFFFFF;
inline constexpr uint32_t kDigitStream = 0xFFFFFFFE;
inline constexpr uint32_t kColorStream = 0xFFFFFFFD;
inline constexpr uint32_t kAugmentationStream = 0xFFFFFFFC;

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_RANDOM_STREAMS_H_
