// What the outermost codes of a quantized value in a report stand for.

#ifndef FIXPOINT_TRANSPILER_REPORT_CODED_RANGE_H_
#define FIXPOINT_TRANSPILER_REPORT_CODED_RANGE_H_

#include <algorithm>
#include <cmath>

#include "proto/config/run_report.pb.h"
#include "runtime/statistics/range_rules.h"

namespace fixpoint {

// The range of a plan or a profile as the codes of the value's spec cover it: a symmetric quantizer
// takes the larger magnitude, an affine one widens the range to 0.
inline void SetRange(const ValueRange& range, RunReport::Value* value) {
  if (value->spec().scheme() == QuantSpec::AFFINE) {
    value->set_low(std::min(range.min, 0.0f));
    value->set_high(std::max(range.max, 0.0f));
    return;
  }
  const float largest = std::max(std::fabs(range.min), std::fabs(range.max));
  value->set_low(value->spec().signedness() == QuantSpec::UNSIGNED ? 0 : -largest);
  value->set_high(largest);
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_CODED_RANGE_H_
