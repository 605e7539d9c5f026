// What the passes that prepare a float program share.

#ifndef FIXPOINT_TRANSPILER_PREPARE_PREPARE_CONTEXT_H_
#define FIXPOINT_TRANSPILER_PREPARE_PREPARE_CONTEXT_H_

#include "ops/quantizer_table.h"
#include "runtime/scope.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

class PrepareContext final : public PassContext {
 public:
  // REQUIRES: both outlive this object.
  PrepareContext(const QuantizerTable& quantizers, const Scope& given)
      : PassContext(quantizers), parameters(&given) {}

  EditedParameters parameters;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_PREPARE_CONTEXT_H_
