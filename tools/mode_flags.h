// Flags of a tool with several modes (or subcommands), each of which takes some of them: one table
// for the help and for refusing a flag that would mean nothing.

#ifndef FIXPOINT_TOOLS_MODE_FLAGS_H_
#define FIXPOINT_TOOLS_MODE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/command_line.h"

namespace fixpoint {

struct ModeFlags {
  std::string mode;
  std::vector<std::string> flags;
};

// A group for each set of modes that share flags, in the order of their first flag:
// "Flags of train and freeze:".
std::vector<FlagGroup> FlagGroupsOf(absl::Span<const ModeFlags> modes);

// An error (of usage) if a given flag is one of other modes alone, which it names. A flag that no
// mode has is every mode's.
absl::Status CheckFlagsOfMode(absl::string_view mode, absl::Span<const ModeFlags> modes,
                              absl::Span<const std::string> given);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_MODE_FLAGS_H_
