// The report of `inspect cost`.

#ifndef FIXPOINT_TOOLS_COST_REPORT_H_
#define FIXPOINT_TOOLS_COST_REPORT_H_

#include <cstdint>
#include <string>

#include "runtime/kernels/kernel_speeds.h"
#include "tools/cost_forms.h"

namespace fixpoint {

struct CostReport {
  std::string program;
  int64_t batch_size = 1;
  ProgramForms forms;
  kernels::KernelSpeeds speeds;
};

// Both forms side by side; then, for each, a line for the steps of one name and kernel, the longest
// expected time first; then the ops that stay in float.
std::string CostText(const CostReport& report);
std::string CostJson(const CostReport& report);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COST_REPORT_H_
