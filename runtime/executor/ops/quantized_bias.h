// Values that are held as a bias in steps of sums of products of codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_BIAS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_BIAS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Codes of one dimension, and the step of each.
struct BiasCodes {
  Buffer codes;  // INT32
  Buffer steps;
  // What the steps are made of.
  Buffer input_range;
  std::optional<Buffer> weight_ranges;  // nothing where they are steps of codes
  int32_t input_largest_code = 0;
  int32_t weight_largest_code = 0;

  // Whether sums of products of such codes have these steps.
  bool IsOfSums(const Codes& inputs, const Codes& weights) const {
    return inputs.ranges == input_range && inputs.largest_code == input_largest_code &&
           weights.ranges == weight_ranges && weights.largest_code == weight_largest_code;
  }
};

// Reads the codes of a bias, INT16 or INT32, as INT32. Error (kUnimplemented): they are neither.
absl::StatusOr<Buffer> ReadCodesOfBias(OpPlanner& op, absl::string_view slot);

// The codes that the floats of a value stand for; null where it is not held as such codes.
const BiasCodes* FindBiasCodes(const PlanBuilder& builder, const Value& value);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_BIAS_H_
