// Learned ranges for people, and as JSON.

#ifndef FIXPOINT_TOOLS_RANGES_REPORT_H_
#define FIXPOINT_TOOLS_RANGES_REPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

// A line for each value, and, under one with a scale for each channel, its first channels.
std::string RangesText(const std::vector<LearnedRange>& ranges);

// All numbers, with the digits from which they are read back to the bit.
std::string RangesJson(absl::string_view file, const std::vector<LearnedRange>& ranges);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_RANGES_REPORT_H_
