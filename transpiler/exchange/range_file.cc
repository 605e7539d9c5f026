#include "transpiler/exchange/range_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "transpiler/exchange/glow_profile.h"
#include "transpiler/exchange/nni_calibration.h"
#include "transpiler/exchange/paddle_thresholds.h"
#include "transpiler/exchange/tensorrt_cache.h"

namespace fixpoint {

absl::StatusOr<RangeProfile> ParseRanges(absl::string_view text, absl::string_view name,
                                         const Program* program) {
  if (LooksLikeProgram(text)) return ReadPaddleThresholds(text, name);
  if (LooksLikeTensorRtCache(text)) return ReadTensorRtCache(text, name);
  if (LooksLikeGlowProfile(text)) return ReadGlowProfile(text, name);
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{")) {
    if (program != nullptr) return ReadNniCalibration(text, name, *program);
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        ": names layers, whose variables only a program knows; want the program beside it: "
        "transpile --profile=FILE PROGRAM"));
  }
  RangeProfile profile;
  RETURN_IF_ERROR(ParseTextMessage(text, name, &profile));
  return profile;
}

absl::StatusOr<RangeProfile> LoadRanges(const std::string& path, const Program* program) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMostTextBytes));
  return ParseRanges(text, InputName(path), program);
}

}  // namespace fixpoint
