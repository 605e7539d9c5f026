// Where the time of a plan's runs is spent.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PROFILE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/executor/plan.h"
#include "runtime/kernels/peaks.h"

namespace fixpoint::executor {

struct StepTimes {
  int64_t runs = 0;
  std::vector<double> seconds;  // of all runs, step by step of the plan
};

// All steps of one name and kernel, in a run.
struct ProfileRow {
  std::string name;  // Step::NameWithKernel
  int steps = 0;
  double seconds = 0;
  double bytes = 0;
  double operations = 0;
  bool reads_codes = false;
  bool are_wide = false;
};

// The longest first.
std::vector<ProfileRow> ProfileRows(const Plan& plan, const StepTimes& times);

// The rows: how many steps, milliseconds of a run, their share, and how much of the machine's peak
// they reach: of its operations, if they are products, and of its memory's bytes. Then the share of
// steps that are neither products nor reach half of the memory's peak: what could be fused or made
// faster; and that of steps that read integers of 8 bits.
std::string ProfileText(const Plan& plan, const StepTimes& times, const kernels::Peaks& peaks);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PROFILE_H_
