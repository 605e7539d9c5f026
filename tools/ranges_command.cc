#include "tools/ranges_command.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/outputs.h"
#include "tools/ranges_report.h"
#include "transpiler/exchange/glow_profile.h"
#include "transpiler/exchange/learned_ranges.h"
#include "transpiler/exchange/nni_calibration.h"
#include "transpiler/exchange/paddle_thresholds.h"
#include "transpiler/exchange/tensorrt_cache.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

using Ranges = std::vector<LearnedRange>;

struct Format {
  absl::string_view name;
  absl::StatusOr<std::string> (*write)(const Ranges& ranges, const NamedProgram& named);
};

// The program with its ranges, in the form in which it was given.
absl::StatusOr<std::string> ProgramWithRanges(const Ranges& ranges, const NamedProgram& named) {
  ASSIGN_OR_RETURN(const ProgramDesc desc, WithPaddleThresholds(ranges, named.program));
  std::string bytes;
  RETURN_IF_ERROR(
      WriteProgram(desc, named.format, named.program.name(), [&bytes](absl::string_view part) {
        bytes.append(part.data(), part.size());
        return absl::OkStatus();
      }));
  return bytes;
}

const Format kFormats[] = {
    {"table",
     [](const Ranges& ranges, const NamedProgram&) -> absl::StatusOr<std::string> {
       return RangesText(ranges);
     }},
    {"json",
     [](const Ranges& ranges, const NamedProgram& named) -> absl::StatusOr<std::string> {
       return RangesJson(named.program.name(), ranges);
     }},
    {"nni",
     [](const Ranges& ranges, const NamedProgram& named) {
       return WriteNniCalibration(ranges, named.program, NniForm::kFields);
     }},
    {"nni3",
     [](const Ranges& ranges, const NamedProgram& named) {
       return WriteNniCalibration(ranges, named.program, NniForm::kTargets);
     }},
    {"tensorrt",
     [](const Ranges& ranges, const NamedProgram&) { return WriteTensorRtCache(ranges); }},
    {"glow", [](const Ranges& ranges, const NamedProgram&) { return WriteGlowProfile(ranges); }},
    {"paddle", ProgramWithRanges},
};

absl::StatusOr<const Format*> FormatOf(const std::string& name) {
  std::vector<std::string> names;
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
    names.emplace_back(format.name);
  }
  return UsageError(absl::StrCat("--format=", name, OfferNames(name, names, names.size())));
}

absl::StatusOr<std::string> RangesIn(const RangesCommand& command, const Format& format) {
  ASSIGN_OR_RETURN(NamedProgram named, LoadNamedProgram(command.program));
  ASSIGN_OR_RETURN(const Scope parameters, LoadParameters(named.program.Proto(), command.params));
  ASSIGN_OR_RETURN(named.program, MakeTestProgram(named.program, command.quantizers));
  const absl::StatusOr<Ranges> ranges =
      FindLearnedRanges(named.program, parameters, *command.quantizers);
  if (!ranges.ok()) return InFile(command.program, ranges.status());
  absl::StatusOr<std::string> text = format.write(*ranges, named);
  if (!text.ok()) return InFile(command.program, text.status());
  return text;
}

}  // namespace

absl::StatusOr<ExitCode> RunRangesCommand(const RangesCommand& command) {
  ASSIGN_OR_RETURN(const Format* const format, FormatOf(command.format));
  if (command.params.empty()) {
    return UsageError("ranges are parameters: want --params=FILE or --params=FOLDER");
  }
  if (command.output.empty()) {
    ASSIGN_OR_RETURN(const std::string text, RangesIn(command, *format));
    RETURN_IF_ERROR(WriteStandardOutput(text));
    return kDone;
  }
  Outputs outputs({command.program, command.params});
  RETURN_IF_ERROR(outputs.Claim(command.output));
  ASSIGN_OR_RETURN(const std::string text, RangesIn(command, *format));
  RETURN_IF_ERROR(outputs.Stage(command.output, text));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(
      WriteReport(absl::StrCat("wrote ", command.output, "\n"), outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
