#include "runtime/kernels/stochastic_quantize.h"

#include <glog/logging.h>

#include <algorithm>

#include "ops/quant_math.h"
#include "ops/stochastic_codes.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/rounding_chances.h"

namespace fixpoint::kernels {
namespace {

// The numbers of a group of elements.
inline void DrawGroup(const RandomStream& random, int64_t group, uint16_t* chances) {
  for (int64_t i = 0; i < kBlocksOfGroup; ++i) {
    const auto words = random.Block(static_cast<uint64_t>(group * kBlocksOfGroup + i));
    for (int word = 0; word < 4; ++word) {
      chances[2 * word * kBlocksOfGroup + i] = static_cast<uint16_t>(words[word]);
      chances[(2 * word + 1) * kBlocksOfGroup + i] =
          static_cast<uint16_t>(words[word] >> kBitsOfChance);
    }
  }
}

}  // namespace

void QuantizeStochastically(const RandomStream& random, absl::Span<const float> x, float range,
                            int32_t largest, absl::Span<int8_t> codes) {
  CHECK_EQ(codes.size(), x.size());
  const auto size = static_cast<int64_t>(x.size());
  const auto most = static_cast<float>(largest);
  const float multiplier = most * InverseRange(range);
  ParallelFor((size + kChancesOfGroup - 1) / kChancesOfGroup, 5 * kChancesOfGroup,
              [=, x = x.data(), codes = codes.data()](int64_t begin, int64_t end) {
                uint16_t chances[kChancesOfGroup];
                for (int64_t group = begin; group < end; ++group) {
                  DrawGroup(random, group, chances);
                  const int64_t start = group * kChancesOfGroup;
                  const int64_t count = std::min(kChancesOfGroup, size - start);
                  for (int64_t i = 0; i < count; ++i) {
                    const float code = StochasticCode(multiplier * x[start + i],
                                                      static_cast<float>(chances[i]), most);
                    codes[start + i] =
                        static_cast<int8_t>(static_cast<int32_t>(code == code ? code : 0.0f));
                  }
                }
              });
}

}  // namespace fixpoint::kernels
