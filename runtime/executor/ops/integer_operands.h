// The operands of a product that are held as codes, so that it is computed on integers.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// Activations with one range, which may have a zero point, and weights: of signed codes with one
// range or one for each output channel, or channel of a group, or affine with one zero point.
struct IntegerOperands {
  Codes inputs;
  Codes weights;
  std::optional<Buffer> weight_zero_points;  // INT32, of the output channels

  bool have_weight_zero_points() const { return weights.zero_point || weight_zero_points; }
  // Sums of `products` of their products.
  SumsOfCodes SumsOf(int64_t products) const {
    return {inputs, weights, products, have_weight_zero_points()};
  }
};

// Nothing where one of the two is not held as such codes. `channel_axis` is the axis of the weights
// that the output channels are on.
absl::StatusOr<std::optional<IntegerOperands>> ReadIntegerOperands(OpPlanner& op,
                                                                   absl::string_view input_slot,
                                                                   Layout input_layout,
                                                                   absl::string_view weight_slot,
                                                                   int channel_axis);
// The same for weights [inner, columns] with a step and a zero point for each column (row_codes.h).
// Also nothing where the product is not a plain one of two matrices, or 32 bits may not hold a sum.
absl::StatusOr<std::optional<IntegerOperands>> ReadRowWiseOperands(
    OpPlanner& op, absl::string_view input_slot, absl::string_view weight_slot,
    const kernels::ProductShape& shape);

// Error (kInvalidArgument): one is no code.
absl::Status CheckWeightZeroPoints(absl::Span<const int32_t> zero_points);

// Sums of products of codes, each times the scale of its channel, (input range / largest code) *
// (weight range / largest code) * alpha, every operation rounded to FP32.
struct OperandSums {
  IntegerOperands operands;
  int64_t channels = 0;
  int64_t products = 0;  // of a sum
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
// after it, after which absorb(after) absorbs ops; gives what it writes. Nothing where 32 bits may
// not hold a sum: it is one of floats.
template <typename Plan, typename Absorb>
absl::StatusOr<std::optional<Buffer>> PlanOperandSums(OpPlanner& op, const OperandSums& sums,
                                                      const OwnStages& own, const OpsAfter& after,
                                                      const Plan& plan, const Absorb& absorb) {
  kernels::Epilogue stages = own.Before(after.epilogue());
  // What is left of the bias where int32 does not hold it.
  if (sums.bias_numbers) {
    stages.insert(stages.begin(), {kernels::EpilogueStage::Kind::kAddChannel});
  }
  auto kernel = plan(sums.coding(), stages);
  if (absl::IsInvalidArgument(kernel.status())) return std::nullopt;
  RETURN_IF_ERROR(kernel.status());
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, absorb(after));
  AddOperandSums(op, sums, *std::move(kernel), epilogue);
  return epilogue.out;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
