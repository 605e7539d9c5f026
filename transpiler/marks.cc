#include "transpiler/marks.h"

namespace fixpoint {

bool IsMarked(const Program& program) {
  if (program.Proto().has_edit_log()) return true;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      if (op.FindAttr(kInsertedByAttr) != nullptr || op.FindAttr(kRewiredAttr) != nullptr) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace fixpoint
