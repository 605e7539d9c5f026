// In which of a few runs each variable of a program is fetched, where all of them are looked at.

#ifndef FIXPOINT_RUNTIME_FETCHING_RUNS_H_
#define FIXPOINT_RUNTIME_FETCHING_RUNS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/program.h"

namespace fixpoint {

// More than the ops in a row that a kernel does at once (a convolution with its bias, residual,
// batch norm, activation and codes), and fewer than the plans that an executor keeps.
inline constexpr int kFetchingRuns = 12;

// A number from 0 to kFetchingRuns - 1 for each of `names`, variables of block 0. What is fetched
// stands in the way of a backend that does several ops at once; so the ops that two variables of
// one run are written by are either equally far from what the program is fed, or at least
// kFetchingRuns ops apart on the longest way from there. Linear in the program.
std::vector<int> FetchingRunsOf(const Program& program, absl::Span<const std::string> names);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_FETCHING_RUNS_H_
