// Reduces a program that shows a defect until it is small enough to read.

#ifndef FIXPOINT_TRANSPILER_REPORT_REDUCE_H_
#define FIXPOINT_TRANSPILER_REPORT_REDUCE_H_

#include <functional>

#include "proto/wire/program.pb.h"

namespace fixpoint {

struct ReduceOptions {
  // No new candidate is tried after this time. All are smaller than the program.
  double seconds = 20;
};

// Leaves out ops, then blocks, variables and attributes, as long as `fails` still holds for the
// rest (delta debugging: Zeller and Hildebrandt 2002, "Simplifying and isolating failure-inducing
// input"). With enough time, no single op can be left out of the result. Candidates may be
// inconsistent programs; the remaining elements keep their order. Takes the memory of one copy of
// the program, besides that of `fails`. REQUIRES: fails(program).
ProgramDesc Reduce(const ProgramDesc& program, const std::function<bool(const ProgramDesc&)>& fails,
                   const ReduceOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_REDUCE_H_
