#include "transpiler/plan/folded_weights.h"

#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

bool FoldsFactors(const Op& op) {
  if (!op.has_own_attrs() || !TraitsOf(op).multiplies_elements) return false;
  return StringAttr(op.desc(), kInsertedByAttr) == kFoldingPass;
}

bool IsForStatistics(const Op& op) {
  bool is_read = false;
  for (const Argument* output : op.outputs()) {
    if (output->value() == nullptr) continue;
    for (const Argument* reader : output->value()->readers()) {
      if (reader->op().type() != kFoldedBatchNorm) {
        // Its gradient op repeats what it reads.
        if ((reader->op().role() & kBackward) == 0) return false;
        continue;
      }
      if (reader->slot_name() != "Unfolded") return false;
      is_read = true;
    }
  }
  return is_read;
}

}  // namespace fixpoint
