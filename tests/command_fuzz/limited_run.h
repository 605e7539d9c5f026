// A tool run as a process of its own, within limits.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_LIMITED_RUN_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_LIMITED_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fixpoint {

struct ToolCommand {
  std::string tool;  // "transpile"
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "ONEDNN_MAX_CPU_ISA=AVX2"
  std::string input;                     // on standard input
  int64_t file_bytes = 0;                // the largest size of a file, as on a full disk
};

struct ToolRun {
  int exit_code = 0;
  int signal = 0;          // that ended it; 0 for none
  bool timed_out = false;  // it was ended because its time was up
  double seconds = 0;
  int64_t peak_bytes = 0;  // of memory
  std::string out;
  std::string err;
};

struct RunLimits {
  double seconds = 30;
  // Bytes of address space; a sanitizer takes all there is, and is not limited.
  int64_t address_bytes = int64_t{4} << 30;
  int64_t output_bytes = int64_t{16} << 20;  // of each stream that is kept; the rest is dropped
};

// Whether this program, and the tools with it, are built with a sanitizer.
bool IsSanitized();

// Runs `binary` in `folder`.
ToolRun RunWithin(const RunLimits& limits, const std::string& binary, const std::string& folder,
                  const ToolCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_LIMITED_RUN_H_
