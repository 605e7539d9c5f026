// Sums of products of codes as integers, for an epilogue that reads them (two_pass_sums.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

class PlainSums : public PacksWeights<int8_t> {
 public:
  // Fills sums, [matrix, row, channel], and offsets, [matrix, channel], which have to be added to
  // all sums of a channel, and include the bias. Zero points of weights are not taken off. Both are
  // modulo 2^32, and so is their sum, which is right. REQUIRES: the sizes that were planned.
  virtual void Run(const SumOperands& operands, absl::Span<int32_t> sums,
                   absl::Span<int32_t> offsets) = 0;

  virtual std::string implementation() const = 0;
};

// By a primitive of oneDNN that multiplies UINT8 with INT8 and stores INT32, whatever the codes of
// the inputs are: oneDNN itself goes by floats where they are others, so those are copied for it.
// Null: it has none that is exact.
std::unique_ptr<PlainSums> PlanStoredSums(const SumsProblem& problem);

// By a primitive of floats. They add integers exactly up to 2^24; where the products of a sum can
// be more, its weights are shared out to several runs, whose sums are added as integers.
std::unique_ptr<PlainSums> PlanSumsInFloats(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_
