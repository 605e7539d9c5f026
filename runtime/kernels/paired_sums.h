// Sums of products of codes by instructions that add pairs of products (paired_loops.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_PAIRED_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_PAIRED_SUMS_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/plain_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. Not for rows of x that lie apart, and groups of one to three
// channels, of which steps or panels would be mostly empty; but for depthwise convolutions, whose
// rows have no dilation.
bool IsForPairs(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanPairedSums(const SumsProblem& problem);

// The sums alone, as integers.
std::unique_ptr<PlainSums> PlanPlainPairedSums(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PAIRED_SUMS_H_
