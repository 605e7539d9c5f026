// What the passes that lower a portable program share.

#ifndef FIXPOINT_TRANSPILER_LOWERING_CONTEXT_H_
#define FIXPOINT_TRANSPILER_LOWERING_CONTEXT_H_

#include <vector>

#include "ops/quantizer_table.h"
#include "runtime/scope.h"
#include "transpiler/edited_parameters.h"
#include "transpiler/lowering/lowered_op.h"
#include "transpiler/pass.h"

namespace fixpoint {

class LowerContext final : public PassContext {
 public:
  // REQUIRES: both outlive this object.
  LowerContext(const QuantizerTable& quantizers, const Scope& frozen)
      : PassContext(quantizers), parameters(&frozen) {}

  EditedParameters parameters;
  std::vector<LoweredOp> lowered;  // in program order, without feeds and fetches
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWERING_CONTEXT_H_
