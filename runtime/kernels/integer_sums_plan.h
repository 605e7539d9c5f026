// Chooses how a convolution or a product computes its exact sums.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/finish_sums.h"
#include "runtime/kernels/input_sums.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/plain_sums.h"

namespace fixpoint::kernels {

// Error (kInvalidArgument): 32 bits may not hold a sum of `products` products. `what` is "a
// product".
absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding);

// The ways to compute the sums of one shape.
struct WaysToSum {
  // With the machine's instructions, including the epilogue; null: none do all of it exactly.
  std::function<std::unique_ptr<IntegerSums>()> fused;
  // With the machine's instructions, as plain sums; null: there are none.
  std::function<std::unique_ptr<PlainSums>()> plain;
  // Plain sums on every machine.
  std::function<std::unique_ptr<PlainSums>()> floats;
  std::function<std::unique_ptr<InputSums>()> input_sums;
};

// Sums with an epilogue, by the first way that this machine has. Errors: those of Planned
// (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(const std::string& what,
                                                      const WaysToSum& ways,
                                                      const SumCoding& coding, int64_t input_size,
                                                      const SumsShape& shape,
                                                      const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_
