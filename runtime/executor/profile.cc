#include "runtime/executor/profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/executor/cost.h"

namespace fixpoint::executor {
namespace {

// All steps of one name and kernel.
struct Row {
  int steps = 0;
  double seconds = 0;  // of a run
  double bytes = 0;
  double operations = 0;
  bool reads_codes = false;
  bool are_wide = false;
};

}  // namespace

std::string ProfileText(const Plan& plan, const StepTimes& times, const kernels::Peaks& peaks) {
  std::map<std::string, Row> rows;
  double total = 0;
  double neither = 0;
  double of_codes = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const double seconds = times.seconds[i] / static_cast<double>(times.runs);
    const Cost cost = CostOf(plan, step);
    Row& row = rows[step.NameWithKernel()];
    ++row.steps;
    row.reads_codes = cost.reads_codes;
    row.are_wide = cost.are_wide;
    row.seconds += seconds;
    row.bytes += cost.bytes;
    row.operations += cost.operations;
    total += seconds;
    if (row.reads_codes) of_codes += seconds;
    if (cost.operations == 0 && cost.bytes < 0.5 * peaks.bytes * seconds) neither += seconds;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });

  std::string text = absl::StrFormat(
      "%.3f ms a run; peaks: %.0f GFLOP/s, %.0f GOP/s of 8 bits, %.1f GB/s\n"
      "steps        ms  share  of operations  of bytes  step\n",
      1e3 * total, 1e-9 * peaks.float_operations, 1e-9 * peaks.integer_operations,
      1e-9 * peaks.bytes);
  for (const auto& [name, row] : sorted) {
    // A vector has as many sums of wide codes as of floats.
    const double peak =
        row.reads_codes && !row.are_wide ? peaks.integer_operations : peaks.float_operations;
    absl::StrAppendFormat(&text, "%5d %9.3f %5.1f%%", row.steps, 1e3 * row.seconds,
                          100 * row.seconds / total);
    text += row.operations > 0
                ? absl::StrFormat(" %13.0f%%", 100 * row.operations / row.seconds / peak)
                : "               ";
    absl::StrAppendFormat(&text, " %8.0f%%  %s\n", 100 * row.bytes / row.seconds / peaks.bytes,
                          name);
  }
  absl::StrAppendFormat(&text, "%.1f%% in steps that are neither products nor bound by memory\n",
                        100 * neither / total);
  absl::StrAppendFormat(&text, "%.1f%% in steps that read integers\n", 100 * of_codes / total);
  return text;
}

}  // namespace fixpoint::executor
