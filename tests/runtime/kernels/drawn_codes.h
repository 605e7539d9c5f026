// Codes of all values, the same each time.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_DRAWN_CODES_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_DRAWN_CODES_H_

#include <cstdint>
#include <vector>

namespace fixpoint::kernels {

inline std::vector<uint8_t> DrawnCodes(int64_t size) {
  std::vector<uint8_t> codes(size);
  uint32_t state = 12345;
  for (uint8_t& code : codes) {
    state = state * 1664525u + 1013904223u;
    code = static_cast<uint8_t>(state >> 24);
  }
  return codes;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_DRAWN_CODES_H_
