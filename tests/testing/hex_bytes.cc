#include "tests/testing/hex_bytes.h"

#include <glog/logging.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace fixpoint {

std::string HexBytes(absl::string_view hex) {
  std::string digits(hex);
  digits.erase(std::remove(digits.begin(), digits.end(), ' '), digits.end());
  CHECK(digits.size() % 2 == 0 && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit))
      << hex;
  return absl::HexStringToBytes(digits);
}

}  // namespace fixpoint
