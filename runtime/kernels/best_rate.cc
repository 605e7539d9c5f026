#include "runtime/kernels/best_rate.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace fixpoint::kernels {
namespace {

// Results go here, so that the copies are not optimised away.
volatile uint8_t sink;

}  // namespace

double CopyRate(size_t bytes, int copies) {
  const std::vector<uint8_t> from(bytes, 1);
  std::vector<uint8_t> to(bytes);
  return BestRate([&] {
    for (int i = 0; i < copies; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      sink = to[bytes / 2];
    }
    return 2.0 * static_cast<double>(bytes) * copies;
  });
}

}  // namespace fixpoint::kernels
