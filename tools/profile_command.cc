#include "tools/profile_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "proto/base/status_macros.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "runtime/backend.h"
#include "runtime/statistics/range_profile.h"
#include "tools/outputs.h"
#include "tools/profile_report.h"
#include "transpiler/exchange/range_file.h"

namespace fixpoint {
namespace {

absl::StatusOr<std::vector<RangeProfile>> LoadProfiles(const std::vector<std::string>& paths) {
  RETURN_IF_ERROR(CheckInputs(paths));
  std::vector<RangeProfile> profiles(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSIGN_OR_RETURN(profiles[i], LoadRanges(paths[i], /*program=*/nullptr));
  }
  return profiles;
}

absl::StatusOr<ExitCode> Show(const ProfileCommand& command, const RangeProfile& profile) {
  const auto variables = ProfiledVariables(profile, command.bits);
  const std::string file = InputName(command.profiles[0]);
  if (!variables.ok()) return AtPlace(file, variables.status());
  RETURN_IF_ERROR(WriteStandardOutput(command.json ? ProfileJson(file, profile, *variables)
                                                   : ProfileText(profile, *variables)));
  return kDone;
}

absl::StatusOr<ExitCode> Merge(const ProfileCommand& command,
                               const std::vector<RangeProfile>& profiles) {
  if (command.output.empty()) return UsageError("profile --merge: want an output: --output=FILE");
  Outputs outputs(command.profiles);
  RETURN_IF_ERROR(outputs.Claim(command.output));
  RangeProfile merged = profiles[0];
  for (size_t i = 1; i < profiles.size(); ++i) {
    const absl::Status status = MergeProfiles(profiles[i], &merged);
    if (!status.ok()) return AtPlace(InputName(command.profiles[i]), status);
  }
  RETURN_IF_ERROR(outputs.Stage(command.output, PrintTextMessage(merged)));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(
      WriteReport(absl::StrCat("wrote ", command.output, "\n"), outputs.to_standard_output()));
  return kDone;
}

absl::StatusOr<ExitCode> Diff(const ProfileCommand& command,
                              const std::vector<RangeProfile>& profiles) {
  const auto differences = ProfileDifferences(profiles[0], profiles[1]);
  const std::string a = InputName(command.profiles[0]);
  const std::string b = InputName(command.profiles[1]);
  if (!differences.ok()) return AtPlace(absl::StrCat(a, " and ", b), differences.status());
  if (differences->empty()) return kDone;
  RETURN_IF_ERROR(WriteStandardOutput(absl::StrCat("--- ", a, "\n+++ ", b, "\n", *differences)));
  return kAnswerIsNo;
}

}  // namespace

absl::StatusOr<ExitCode> RunProfileCommand(const ProfileCommand& command) {
  if (command.merge && command.diff) return UsageError("--merge and --diff: one of them at a time");
  const size_t count = command.profiles.size();
  const bool fits = command.merge ? count >= 2 : count == (command.diff ? 2 : 1);
  if (!fits) {
    return UsageError(absl::StrCat("profile takes ",
                                   command.merge  ? "two files or more to merge"
                                   : command.diff ? "two files to compare"
                                                  : "one file, more with --merge",
                                   ", and was given ", count));
  }
  if (!command.merge && !command.output.empty()) {
    return UsageError("--output: only --merge writes a profile");
  }
  // One bit less than the most, because unsigned codes need it for the sign of signed ones.
  if (command.bits < kLeastBits || command.bits >= kMostBits) {
    return UsageError(
        absl::StrCat("--bits=", command.bits, "; want ", kLeastBits, " to ", kMostBits - 1));
  }
  ASSIGN_OR_RETURN(const std::vector<RangeProfile> profiles, LoadProfiles(command.profiles));
  if (command.merge) return Merge(command, profiles);
  return command.diff ? Diff(command, profiles) : Show(command, profiles[0]);
}

}  // namespace fixpoint
