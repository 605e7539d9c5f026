// The gradient ops of a formula: for a quantizer that expresses what it computes as a few ops, and
// not the gradient of that (Quantizer::GradientOps).

#ifndef FIXPOINT_OPS_FORMULA_GRADIENT_H_
#define FIXPOINT_OPS_FORMULA_GRADIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/era.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct Formula {
  // In order. The last one writes `result`; no name is written twice.
  std::vector<OpDesc> ops;
  std::string result;
  // The inputs that have a gradient: tensors of floats.
  std::vector<std::string> inputs;
  // Results of ops that count as constants, through which no gradient passes. Rounding that is
  // passed straight through is x + constant(round(x) - x).
  std::vector<std::string> constants;
};

// Returns ops from the inputs and `<result>@GRAD` to `<input>@GRAD` of each input that the result
// depends on: those ops of the formula that are read again or have gradient ops, which would
// otherwise belong to nothing, then what AppendBackward derives from them. Errors: those of
// AppendBackward, as where an op has no gradient.
absl::StatusOr<std::vector<OpDesc>> GradientOpsOf(const Formula& formula, Era era);

// The last op between an input and the result that has no known gradient, so that GradientOpsOf
// fails; null if there is none.
const OpDesc* FindOpWithoutGradient(const Formula& formula);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FORMULA_GRADIENT_H_
