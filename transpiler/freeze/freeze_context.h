// What the passes that make a program for inference share.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FREEZE_CONTEXT_H_
#define FIXPOINT_TRANSPILER_FREEZE_FREEZE_CONTEXT_H_

#include <string>
#include <vector>

#include "ops/quantizer_table.h"
#include "runtime/row_formats.h"
#include "runtime/scope.h"
#include "transpiler/freeze/frozen_form.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

class FreezeContext final : public PassContext {
 public:
  // `trained`: the parameters; null where the fact "trained_parameters" is not given. REQUIRES:
  // both outlive this object.
  explicit FreezeContext(const QuantizerTable& quantizers, const Scope* trained = nullptr)
      : PassContext(quantizers), parameters(trained) {}

  FrozenForm form = FrozenForm::kPortable;
  // Whether a frozen program may still find ranges of activations anew at every run.
  bool allow_dynamic = false;
  // The outputs and inputs of a pruned program; empty: those of its fetch and feed ops.
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;

  // How pack_tables stores tables of floats.
  RowFormat table_format = RowFormat::kPaddleDequant;

  EditedParameters parameters;
  QuantizedWeights quantized_weights;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FREEZE_CONTEXT_H_
