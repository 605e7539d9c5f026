#include "transpiler/freeze/folded_formulas.h"

#include "ops/op_schema.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/prepare/constant_folder.h"

namespace fixpoint {

bool IsOfFormula(const Op& op) {
  return op.FindAttr(kInsertedByAttr) != nullptr && QuantOpOf(op) == QuantOp::kNone &&
         op.type() != kRequantize;
}

absl::Status FoldFormulaOps(absl::string_view pass, Program* program, EditedParameters* parameters,
                            std::vector<std::string>* notes) {
  ConstantFolder folder(program, parameters, notes, pass);
  for (const Op& op : program->block(0).ops()) {
    if (IsOfFormula(op)) RETURN_IF_ERROR(folder.Fold(op));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
