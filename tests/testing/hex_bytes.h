// Bytes as a test writes them down.

#ifndef FIXPOINT_TESTS_TESTING_HEX_BYTES_H_
#define FIXPOINT_TESTS_TESTING_HEX_BYTES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// The bytes of "0805 1002"; blanks only group them. REQUIRES: pairs of hexadecimal digits.
std::string HexBytes(absl::string_view hex);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_HEX_BYTES_H_
