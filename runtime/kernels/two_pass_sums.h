// Sums in two passes: products are added up and stored as integers, and the epilogue reads them.
// So all that there may be to a sum is computed, exactly, on every machine.

#ifndef FIXPOINT_RUNTIME_KERNELS_TWO_PASS_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_TWO_PASS_SUMS_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// The first pass on oneDNN's integers, on its floats (plain_sums.h), or in pairs (tiled_sums.h).
// As rows of sums_kernels.h.
std::unique_ptr<IntegerSums> PlanTwoPassSums(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanTilesInTwoPasses(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanSumsOfFloats(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TWO_PASS_SUMS_H_
