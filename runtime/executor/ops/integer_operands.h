// The operands of a product that are held as codes, so that it is computed on integers.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/codes/coded_product.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

// The operands of a product that is computed on integers (ops/codes/coded_product.h).
struct IntegerOperands {
  Codes inputs;
  Codes weights;
  std::optional<Buffer> weight_zero_points;  // INT32, of the output channels
  CodedProduct product;

  SumsOfCodes sums() const { return {inputs, weights, product}; }
};

// The operands of an op with a ProductTrait; nothing where it is not computed on integers.
absl::StatusOr<std::optional<IntegerOperands>> ReadIntegerOperands(OpPlanner& op,
                                                                   Layout input_layout);

// Error (kInvalidArgument): one is no code.
absl::Status CheckWeightZeroPoints(absl::Span<const int32_t> zero_points);

// Sums of products of codes, each times the scale of its channel, (input range / largest code) *
// (weight range / largest code) * alpha, every operation rounded to FP32.
struct OperandSums {
  IntegerOperands operands;
  int64_t channels = 0;
  int64_t operations = 0;
  float alpha = 1;
  // In steps of the sums, which are then their scales.
  std::optional<BiasCodes> bias = std::nullopt;
  // As floats. A run adds it to the sums in int32 (ops/bias_codes.h) or, where that does not hold
  // it, in float.
  std::optional<Buffer> bias_numbers = std::nullopt;

  kernels::SumCoding coding() const;
};

// Adds the step that computes them and then the epilogue.
void AddOperandSums(OpPlanner& op, const OperandSums& sums,
                    std::shared_ptr<kernels::IntegerSums> kernel, PlannedEpilogue epilogue);

// Adds that step for the kernel that plan(coding, epilogue) makes of the op's own stages and those
// after it, after which absorb(after) absorbs ops; gives what it writes.
template <typename Plan, typename Absorb>
absl::StatusOr<Buffer> PlanOperandSums(OpPlanner& op, const OperandSums& sums, const OwnStages& own,
                                       const OpsAfter& after, const Plan& plan,
                                       const Absorb& absorb) {
  kernels::Epilogue stages = own.Before(after.epilogue());
  // What is left of the bias where int32 does not hold it.
  if (sums.bias_numbers) {
    stages.insert(stages.begin(), {kernels::EpilogueStage::Kind::kAddChannel});
  }
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerSums> kernel, plan(sums.coding(), stages));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, absorb(after));
  AddOperandSums(op, sums, std::move(kernel), epilogue);
  return epilogue.out;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
