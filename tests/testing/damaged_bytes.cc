#include "tests/testing/damaged_bytes.h"

#include <cstddef>

namespace fixpoint {

std::vector<std::string> Damaged(const std::string& bytes, Damage damage) {
  std::vector<std::string> all;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (damage == Damage::kCutOff) {
      all.push_back(bytes.substr(0, i));
      continue;
    }
    for (int bit = 0; bit < 8; ++bit) {
      all.push_back(bytes);
      all.back()[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
  return all;
}

}  // namespace fixpoint
