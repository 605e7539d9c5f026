// What the passes that lower a portable program share.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWER_CONTEXT_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWER_CONTEXT_H_

#include <optional>
#include <vector>

#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "transpiler/lower/lowered_op.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

class LowerContext final : public PassContext {
 public:
  // REQUIRES: both outlive this object.
  LowerContext(const QuantizerTable& quantizers, const Scope& frozen)
      : PassContext(quantizers), parameters(&frozen) {}

  EditedParameters parameters;
  // What was lowered, if passes before that have changed what was given.
  std::optional<Program> portable;
  std::vector<LoweredOp> lowered;  // in program order, without feeds and fetches
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWER_CONTEXT_H_
