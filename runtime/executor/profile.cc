#include "runtime/executor/profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/executor/cost.h"

namespace fixpoint::executor {

std::vector<ProfileRow> ProfileRows(const Plan& plan, const StepTimes& times) {
  std::map<std::string, ProfileRow> rows;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Cost cost = CostOf(plan, step);
    ProfileRow& row = rows[step.NameWithKernel()];
    ++row.steps;
    row.reads_codes = cost.reads_codes;
    row.are_wide = cost.are_wide;
    row.seconds += times.seconds[i] / static_cast<double>(times.runs);
    row.bytes += cost.bytes;
    row.operations += cost.operations;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [name, row] : rows) {
    row.name = name;
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string ProfileText(const Plan& plan, const StepTimes& times, const kernels::Peaks& peaks) {
  double total = 0;
  double neither = 0;
  double of_codes = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const double seconds = times.seconds[i] / static_cast<double>(times.runs);
    const Cost cost = CostOf(plan, plan.steps[i]);
    total += seconds;
    if (cost.reads_codes) of_codes += seconds;
    if (cost.operations == 0 && cost.bytes < 0.5 * peaks.bytes * seconds) neither += seconds;
  }

  std::string text = absl::StrFormat(
      "%.3f ms a run; peaks: %.0f GFLOP/s, %.0f GOP/s of 8 bits, %.1f GB/s\n"
      "steps        ms  share  of operations  of bytes  step\n",
      1e3 * total, 1e-9 * peaks.float_operations, 1e-9 * peaks.integer_operations,
      1e-9 * peaks.bytes);
  for (const ProfileRow& row : ProfileRows(plan, times)) {
    // A vector has as many sums of wide codes as of floats.
    const double peak =
        row.reads_codes && !row.are_wide ? peaks.integer_operations : peaks.float_operations;
    absl::StrAppendFormat(&text, "%5d %9.3f %5.1f%%", row.steps, 1e3 * row.seconds,
                          100 * row.seconds / total);
    text += row.operations > 0
                ? absl::StrFormat(" %13.0f%%", 100 * row.operations / row.seconds / peak)
                : "               ";
    absl::StrAppendFormat(&text, " %8.0f%%  %s\n", 100 * row.bytes / row.seconds / peaks.bytes,
                          row.name);
  }
  absl::StrAppendFormat(&text, "%.1f%% in steps that are neither products nor bound by memory\n",
                        100 * neither / total);
  absl::StrAppendFormat(&text, "%.1f%% in steps that read integers\n", 100 * of_codes / total);
  return text;
}

}  // namespace fixpoint::executor
