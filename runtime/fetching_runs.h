// Chooses in which of a few runs each variable of a program is fetched, when all of them are
// compared.

#ifndef FIXPOINT_RUNTIME_FETCHING_RUNS_H_
#define FIXPOINT_RUNTIME_FETCHING_RUNS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// More than the ops in a row that a kernel does at once (a convolution with its bias, residual,
// batch norm, activation and codes), and fewer than the plans that an executor keeps.
inline constexpr int kFetchingRuns = 12;

// A number from 0 to kFetchingRuns - 1 for each of `names`, variables of block 0. Fetching a
// variable keeps a backend from fusing the ops around it; so the ops that write two variables of
// one run are either equally far from the program's inputs, or at least kFetchingRuns ops apart on
// the longest path from there. Linear in the program.
std::vector<int> FetchingRunsOf(const Program& program, absl::Span<const std::string> names);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_FETCHING_RUNS_H_
