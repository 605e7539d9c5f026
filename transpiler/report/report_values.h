// What the values of a report are: how they are distributed, and what quantizing them loses.

#ifndef FIXPOINT_TRANSPILER_REPORT_REPORT_VALUES_H_
#define FIXPOINT_TRANSPILER_REPORT_REPORT_VALUES_H_

#include "absl/status/status.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/run_report.pb.h"
#include "runtime/scope.h"
#include "runtime/statistics/bit_histogram.h"

namespace fixpoint {

// Between the smallest value and the largest, in 48 parts of the same width, as if the values of a
// bin were evenly spread; every value is counted once. Nothing without values; a constant is one
// part without a width.
RunReport::Histogram CoarseHistogram(const BitHistogram& values);

// What a profile saw of the activations, and what their ranges do to it. A range that the report
// lacks is chosen by the rule of its spec. Errors (kInvalidArgument): those of StatisticsOf.
absl::Status AddProfile(const RangeProfile& profile, RunReport* report);

// How the weights are distributed, by channels too, and what rounding them to the symmetric codes
// of their spec does. A range that the report lacks is chosen by the rule of the spec.
void AddWeights(const Scope& parameters, RunReport* report);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_REPORT_VALUES_H_
