// Flags of a tool with several modes (or subcommands), each of which accepts some of them: one
// table for the help and for refusing a flag that would have no effect.

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

// Returns a group for each set of modes that share flags, in the order of their first flag: "Flags
// of train and freeze:".
std::vector<FlagGroup> FlagGroupsOf(absl::Span<const ModeFlags> modes);

// A usage error if a given flag belongs only to other modes, which the error names. A flag that is
// in no mode belongs to all of them.
absl::Status CheckFlagsOfMode(absl::string_view mode, absl::Span<const ModeFlags> modes,
                              absl::Span<const std::string> given);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_MODE_FLAGS_H_
