#include "runtime/peak_memory.h"

#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace fixpoint {

int64_t PeakMemoryBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "VmHWM:")) continue;
    int64_t kilobytes = 0;
    const absl::string_view number = absl::StripSuffix(rest, "kB");
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(number), &kilobytes)) return 0;
    return 1024 * kilobytes;
  }
  return 0;
}

}  // namespace fixpoint
