// The report of `transpile`: as text, and as JSON.

#ifndef FIXPOINT_TOOLS_TRANSPILE_REPORT_H_
#define FIXPOINT_TOOLS_TRANSPILE_REPORT_H_

#include <string>
#include <vector>

#include "proto/config/quant_plan.pb.h"
#include "transpiler/report/ops_left_out.h"

namespace fixpoint {

struct TranspileReport {
  std::string program;
  std::string output;              // "" where none was written
  std::string startup_output;      // "" where none was written
  std::string params_output;       // "" where none were written
  std::string left_alone;          // why nothing was done; "" if something was
  std::vector<std::string> notes;  // in the JSON; with the text they are written separately
  QuantPlan plan;
  std::vector<OpsLeftOut> left_out;
  bool explain = false;
};

std::string ReportText(const TranspileReport& report);
std::string ReportJson(const TranspileReport& report);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRANSPILE_REPORT_H_
