// Products of operands that are held as codes (ops/codes/coded_product.h): their sums are computed
// on integers.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ON_INTEGERS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ON_INTEGERS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/wide_product.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

// Error (kInvalidArgument): one is no code.
absl::Status CheckWeightZeroPoints(absl::Span<const int32_t> zero_points);

// Makes the kernel for a coding and an epilogue.
using PlanSums = std::function<absl::StatusOr<std::shared_ptr<kernels::IntegerSums>>(
    const kernels::SumCoding& coding, const kernels::Epilogue& epilogue)>;

// Adds the steps that compute an op with a ProductTrait, and the work of the ops after it, where
// its sums are computed on integers, those of wide codes by the kernel of `plan_wide`; false, with
// nothing added, where they are not. Each sum is multiplied by the scale of its channel, (input
// range / largest code) * (weight range / largest code) * factor, every operation rounded to FP32.
absl::StatusOr<bool> PlanOnIntegers(OpPlanner& op, const EpilogueInput& output, int64_t operations,
                                    const PlanSums& plan, const PlanWide& plan_wide);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ON_INTEGERS_H_
