// `inspect profile`: what profiles hold, merged, or compared.

#ifndef FIXPOINT_TOOLS_PROFILE_COMMAND_H_
#define FIXPOINT_TOOLS_PROFILE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

struct ProfileCommand {
  std::vector<std::string> profiles;
  bool merge = false;
  bool diff = false;
  std::string output;  // of a merge
  int bits = 8;        // of the codes that ranges are shown for
  bool json = false;
};

absl::StatusOr<ExitCode> RunProfileCommand(const ProfileCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROFILE_COMMAND_H_
