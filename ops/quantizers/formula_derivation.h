// The gradient of a quantizer's text.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_DERIVATION_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_DERIVATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer.h"
#include "ops/quantizers/quantizer_text.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The ops from Quantizer::kResultGradient to the gradients of the value and of the trained states,
// for one use: those of the gradient section, or those derived from the surrogate or the forward
// section; after the ops of these sections that they read and that are not among `of_program`.
// Errors (kInvalidArgument), with file and line: an op whose gradient is not known; a gradient that
// nothing computes; an op of the surrogate that writes a name of `of_program`, and is another.
absl::StatusOr<std::vector<OpDesc>> DeriveGradient(const QuantizerText& text,
                                                   const QuantizerUse& use,
                                                   const std::vector<OpDesc>& of_program);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_DERIVATION_H_
