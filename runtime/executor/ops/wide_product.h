// Products of which an operand is held as wide codes (ops/codes/coded_product.h): sums of integers
// of 64 bits.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_PRODUCT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_PRODUCT_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/codes/coded_product.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/kernels/wide_sums.h"

namespace fixpoint::executor {

// Makes the kernel for an epilogue.
using PlanWide = std::function<absl::StatusOr<std::shared_ptr<kernels::WideSums>>(
    const kernels::Epilogue& epilogue)>;

// Adds the steps that compute the op and the work of the ops after it, as PlanOnIntegers does
// (on_integers.h). REQUIRES: product.is_wide().
absl::Status PlanOnWideCodes(OpPlanner& op, const CodedProduct& product,
                             const EpilogueInput& output, int64_t operations, const PlanWide& plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_PRODUCT_H_
