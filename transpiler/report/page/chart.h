// Drawings of numbers, as SVG that takes the width it is given.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_CHART_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_CHART_H_

#include <string>
#include <vector>

#include "proto/config/run_report.pb.h"
#include "transpiler/report/page/html.h"

namespace fixpoint {

// How a value is distributed, with the limits of its range; counts on a logarithmic axis. Nothing
// for a value without a histogram. REQUIRES: CheckRunReport passes the report.
void DrawHistogram(const RunReport::Value& value, Html* html);

// A number over the steps of training, in one or two runs. A value that is not finite leaves a gap.
struct Series {
  std::string name;
  const RunReport::Curve* curve;
};
void DrawCurves(const std::string& title, const std::vector<Series>& series, Html* html);

// A bar that is `share` of its place long, beside a number that says the same. `kind` is a class of
// the style sheet.
void DrawBar(double share, const std::string& kind, Html* html);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_CHART_H_
