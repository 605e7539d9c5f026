// The flags of tools that run a network on samples.

#ifndef FIXPOINT_TOOLS_SAMPLE_FLAGS_H_
#define FIXPOINT_TOOLS_SAMPLE_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/data_source.h"
#include "tools/command_line.h"

namespace fixpoint {

struct SampleFlags {
  std::string program;
  std::string params;
  DataSource data;
  std::string data_name;  // as the command line names it
  std::string output;
  int64_t samples = 0;
  uint64_t seed = 0;
  bool resume = false;
};

// `output` is what a flag names: "FILE". Usage errors: there is not one program; a flag that is
// needed is not given; there is no such data; samples are less than 1.
absl::StatusOr<SampleFlags> ReadSampleFlags(const CommandLine& line, absl::string_view output);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_SAMPLE_FLAGS_H_
