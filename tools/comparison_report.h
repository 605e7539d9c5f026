// The report of `infer --compare`: as text, and as JSON.

#ifndef FIXPOINT_TOOLS_COMPARISON_REPORT_H_
#define FIXPOINT_TOOLS_COMPARISON_REPORT_H_

#include <string>

#include "proto/config/run_report.pb.h"
#include "runtime/comparison.h"

namespace fixpoint {

// A line for each variable, the names of what is left out, and the total. `program` and `other` are
// the files' names.
std::string ComparisonText(const std::string& program, const std::string& other,
                           const Comparison& comparison);

// The same. An infinite signal to noise ratio is null.
std::string ComparisonJson(const std::string& program, const std::string& other,
                           const Comparison& comparison);

// Adds what differs to the ops of a report that write the compared variables, and a note for each
// reason that others are left out for.
void AddComparison(const std::string& program, const std::string& other,
                   const Comparison& comparison, RunReport* report);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMPARISON_REPORT_H_
