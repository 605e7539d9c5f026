#include "tools/mode_flags.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

std::vector<std::string> ModesOf(const std::string& flag, absl::Span<const ModeFlags> modes) {
  std::vector<std::string> names;
  for (const ModeFlags& mode : modes) {
    if (std::find(mode.flags.begin(), mode.flags.end(), flag) != mode.flags.end()) {
      names.push_back(mode.mode);
    }
  }
  return names;
}

// "train, test and freeze".
std::string Enumeration(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " and ", names.back());
}

}  // namespace

std::vector<FlagGroup> FlagGroupsOf(absl::Span<const ModeFlags> modes) {
  std::vector<FlagGroup> groups;
  for (const ModeFlags& mode : modes) {
    for (const std::string& flag : mode.flags) {
      const std::vector<std::string> names = ModesOf(flag, modes);
      if (names.front() != mode.mode) continue;  // is in the group of an earlier mode
      const std::string title = absl::StrCat("Flags of ", Enumeration(names), ":");
      const auto group =
          std::find_if(groups.begin(), groups.end(),
                       [&title](const FlagGroup& known) { return known.title == title; });
      if (group == groups.end()) {
        groups.push_back({title, {flag}});
      } else {
        group->flags.push_back(flag);
      }
    }
  }
  return groups;
}

absl::Status CheckFlagsOfMode(absl::string_view mode, absl::Span<const ModeFlags> modes,
                              absl::Span<const std::string> given) {
  for (const std::string& flag : given) {
    const std::vector<std::string> names = ModesOf(flag, modes);
    if (names.empty() || std::find(names.begin(), names.end(), mode) != names.end()) continue;
    return UsageError(absl::StrCat("--", flag, " is not a flag of ", mode, "; it is one of ",
                                   Enumeration(names)));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
