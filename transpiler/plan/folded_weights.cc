#include "transpiler/plan/folded_weights.h"

#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

bool IsOfFolding(const Op& op) {
  return op.has_own_attrs() && StringAttr(op.desc(), kInsertedByAttr) == kFoldingPass;
}

}  // namespace

bool FoldsFactors(const Op& op) { return TraitsOf(op).multiplies_elements && IsOfFolding(op); }

bool IsForStatistics(const Op& op) {
  bool is_read = false;
  for (const Argument* output : op.outputs()) {
    if (output->value() == nullptr) continue;
    for (const Argument* reader : output->value()->readers()) {
      if (TraitsOf(reader->op()).sum && IsOfFolding(reader->op())) {
        if (!IsForStatistics(reader->op())) return false;
        is_read = true;
        continue;
      }
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
