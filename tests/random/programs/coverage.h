// What random programs cover, counted.

#ifndef FIXPOINT_TESTS_RANDOM_PROGRAMS_COVERAGE_H_
#define FIXPOINT_TESTS_RANDOM_PROGRAMS_COVERAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/config/quant_plan.pb.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct LoweredModel;

}  // namespace fixpoint

namespace fixpoint::random_cases {

// By category: of "ops on integers" how many, of the others in how many cases. "activations of 4
// bits", "biases in int32", "conv2d", ...
using Coverage = std::map<std::string, int64_t>;

// What one case covers, which was quantized by a plan.
Coverage CoverageOf(const ProgramDesc& forward, const QuantPlan& plan, const LoweredModel& lowered);

void AddCoverage(const Coverage& of_case, Coverage* all);

// What cases have to cover and these do not: 100 cases, every way to quantize; 1,000 cases, every
// quantizer, op and stage of an epilogue too.
std::vector<std::string> MissingOf100(const Coverage& coverage);
std::vector<std::string> MissingOf1000(const Coverage& coverage);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_PROGRAMS_COVERAGE_H_
