#include "transpiler/exchange/tensorrt_cache.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "transpiler/exchange/ranges_by_variable.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kPrefix = "TRT-";
// What TensorRT 8.6 writes with the calibrator of its own samples. Readers compare the line with
// what they expect, so that other versions want it edited.
constexpr absl::string_view kFirstLine = "TRT-8601-EntropyCalibration2";
constexpr absl::string_view kCalibrators[] = {"EntropyCalibration", "EntropyCalibration2",
                                              "LegacyCalibration", "MinMaxCalibration"};
constexpr absl::string_view kUnnamed = "(Unnamed Layer*";
constexpr size_t kDigits = 8;
constexpr float kLargestCode = 127;
constexpr int kBits = 8;

bool IsFirstLine(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, kPrefix)) return false;
  const size_t dash = line.find('-');
  uint32_t version = 0;
  return dash != absl::string_view::npos && absl::SimpleAtoi(line.substr(0, dash), &version) &&
         std::count(std::begin(kCalibrators), std::end(kCalibrators), line.substr(dash + 1)) == 1;
}

// Digits alone: SimpleHexAtoi also takes signs, spaces and 0x.
bool ReadStep(absl::string_view digits, float* step) {
  uint32_t bits = 0;
  if (digits.size() != kDigits ||
      !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit) ||
      !absl::SimpleHexAtoi(digits, &bits)) {
    return false;
  }
  std::memcpy(step, &bits, sizeof(bits));
  return true;
}

std::string StepText(float step) {
  uint32_t bits = 0;
  std::memcpy(&bits, &step, sizeof(bits));
  return absl::StrFormat("%08x", bits);
}

absl::Status CheckCodes(const LearnedRange& range) {
  const auto wrong = [&range](absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("\"", range.variable(), "\" has ", what,
                     ", which TensorRT does not have; want 8 bits with a sign, one scale and no "
                     "zero point, as --target=tensorrt_int8 makes"));
  };
  if (range.is_affine) return wrong("a zero point");
  if (range.scales.size() != 1) return wrong("a scale for each channel");
  if (range.codes.bits != kBits) return wrong(absl::StrCat(range.codes.bits, " bits"));
  if (range.codes.is_unsigned) return wrong("codes without a sign");
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeTensorRtCache(absl::string_view text) { return absl::StartsWith(text, kPrefix); }

absl::StatusOr<RangeProfile> ReadTensorRtCache(absl::string_view text, absl::string_view name) {
  RangeProfile profile;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const auto wrong = [&](const auto&... parts) {
      return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": ", parts...));
    };
    absl::ConsumeSuffix(&line, "\r");
    if (number == 1) {
      if (IsFirstLine(line)) continue;
      return wrong("\"", line.substr(0, 60),
                   "\" is no first line of a calibration cache; want TRT-",
                   "<version>-<calibrator>, with one of ", absl::StrJoin(kCalibrators, ", "));
    }
    if (line.empty()) continue;
    const size_t colon = line.rfind(": ");
    if (colon == absl::string_view::npos || colon == 0) {
      return wrong("want <tensor>: <the 8 hexadecimal digits of its step>");
    }
    const absl::string_view tensor = line.substr(0, colon);
    const absl::string_view digits = line.substr(colon + 2);
    float step = 0;
    if (!ReadStep(digits, &step)) {
      return wrong("\"", tensor, "\": got \"", digits, "\"; want the 8 hexadecimal digits of an ",
                   "FP32");
    }
    const float range = step * kLargestCode;
    if (!std::isfinite(range) || std::signbit(range)) {
      return wrong("\"", tensor, "\": ", digits, " is a step of ", step,
                   "; want a finite number that is not negative, also 127 times");
    }
    if (absl::StartsWith(tensor, kUnnamed)) continue;
    RangeProfile::Entry& entry = *profile.add_entries();
    entry.set_variable(std::string(tensor));
    entry.set_min(-range);
    entry.set_max(range);
  }
  return profile;
}

absl::StatusOr<std::string> WriteTensorRtCache(const std::vector<LearnedRange>& ranges) {
  ASSIGN_OR_RETURN(const std::vector<const LearnedRange*> kept, RangesByVariable(ranges));
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const LearnedRange* range : kept) {
    if (range->is_weight) continue;
    RETURN_IF_ERROR(CheckCodes(*range));
    if (absl::StrContains(range->variable(), '\n') ||
        absl::StartsWith(range->variable(), kUnnamed)) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", absl::CHexEscape(range->variable()), "\" is no name that a line of a ",
                       "calibration cache can hold; rename the variable"));
    }
    absl::StrAppend(&text, range->variable(), ": ", StepText(range->Step(0)), "\n");
  }
  return text;
}

}  // namespace fixpoint
