// Random numbers one after the other: the same for a seed on every machine.

#ifndef FIXPOINT_EXAMPLES_OCR_DICE_H_
#define FIXPOINT_EXAMPLES_OCR_DICE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/random.h"

namespace fixpoint {
namespace ocr {

class Dice {
 public:
  explicit Dice(uint64_t seed) : stream_(seed, 0, 0) {}

  double Within(double least, double most) {
    return least + (most - least) * stream_.Uniform(next_++);
  }
  // From `least` to `most`, both possible.
  int64_t Whole(int64_t least, int64_t most) {
    return least +
           static_cast<int64_t>(stream_.Uniform(next_++) * static_cast<double>(most - least + 1));
  }
  bool Chance(double probability) { return stream_.Uniform(next_++) < probability; }
  // Three numbers at once, each within -1 and 1 and mostly near 0: the difference of two.
  std::array<double, 3> Noise() {
    const std::array<uint32_t, 4> words = stream_.Block(next_++, 1);
    const auto number = [&words](size_t i) {
      return (static_cast<double>(words[i]) - static_cast<double>(words[3])) / 4294967296.0;
    };
    return {number(0), number(1), number(2)};
  }

 private:
  const RandomStream stream_;
  uint64_t next_ = 0;
};

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_DICE_H_
