// What `infer --compare` tells of two programs: for people, and as JSON.

#ifndef FIXPOINT_TOOLS_COMPARISON_REPORT_H_
#define FIXPOINT_TOOLS_COMPARISON_REPORT_H_

#include <string>

#include "runtime/comparison.h"

namespace fixpoint {

// A line for each variable, and the sum.
std::string ComparisonText(const Comparison& comparison);

// `program` and `other` are the files' names. A signal to noise ratio that is infinite is null.
std::string ComparisonJson(const std::string& program, const std::string& other,
                           const Comparison& comparison);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMPARISON_REPORT_H_
