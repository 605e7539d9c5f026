// Which way to exact sums a convolution or a product takes.

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

// Error (kInvalidArgument): 32 bits may not hold a sum of so many products. `what` is "a product".
absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding);

// The ways that there are for one shape.
struct WaysToSum {
  // By instructions, with the epilogue; null: there are none that do all of it, exactly.
  std::function<std::unique_ptr<IntegerSums>()> fused;
  // By instructions; null: there are none.
  std::function<std::unique_ptr<PlainSums>()> plain;
  // On every machine.
  std::function<std::unique_ptr<PlainSums>()> floats;
  std::function<std::unique_ptr<InputSums>()> input_sums;
};

// Sums with an epilogue, by the first of the ways that there is on this machine. Errors: those of
// Planned (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(const std::string& what,
                                                      const WaysToSum& ways,
                                                      const SumCoding& coding, int64_t input_size,
                                                      const SumsShape& shape,
                                                      const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_
