// The operands of a product that are held as codes, so that it is computed on integers.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/kernels/biased_sums.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

// Activations with one range, which may have a zero point, and weights of signed codes without one,
// with one range or one for each output channel, or channel of a group.
struct IntegerOperands {
  Codes inputs;
  Codes weights;

  // Sums of so many of their products.
  SumsOfCodes SumsOf(int64_t products) const { return {inputs, weights, products}; }
};

// Nothing where one of the two is not held as such codes. `channel_axis` is the axis of the weights
// that the output channels are on.
absl::StatusOr<std::optional<IntegerOperands>> ReadIntegerOperands(OpPlanner& op,
                                                                   absl::string_view input_slot,
                                                                   Layout input_layout,
                                                                   absl::string_view weight_slot,
                                                                   int channel_axis);

// Adds the step that computes sums of products of codes, each times the scale of its channel,
// (input range / largest code) * (weight range / largest code) * alpha, every operation rounded to
// FP32, and then the epilogue.
void AddIntegerSums(OpPlanner& op, const IntegerOperands& operands,
                    std::shared_ptr<kernels::IntegerSums> sums, int64_t channels,
                    int64_t operations, const PlannedEpilogue& epilogue, float alpha = 1);
// The same of sums with a bias in int32, by whose steps they are multiplied.
void AddBiasedSums(OpPlanner& op, const IntegerOperands& operands, const BiasCodes& bias,
                   std::shared_ptr<kernels::BiasedSums> sums, int64_t operations,
                   const PlannedEpilogue& epilogue);

// Adds that step for a kernel that `plan` makes of an epilogue, after which `absorb` absorbs ops.
template <typename Plan, typename Absorb>
absl::Status PlanBiasedSums(OpPlanner& op, const IntegerOperands& operands, const BiasCodes& bias,
                            const OpsAfter& after, int64_t operations, const Plan& plan,
                            const Absorb& absorb) {
  ASSIGN_OR_RETURN(auto sums, plan(after.epilogue()));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, absorb(after));
  AddBiasedSums(op, operands, bias, std::move(sums), operations, epilogue);
  return absl::OkStatus();
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INTEGER_OPERANDS_H_
