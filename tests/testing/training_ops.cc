#include "tests/testing/training_ops.h"

#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"

namespace fixpoint {

std::string TrainingOps(const Program& program, int roles) {
  std::string text;
  for (const Op& op : program.block(0).ops()) {
    if ((op.role() & roles) == 0) continue;
    OpDesc desc = op.desc();
    desc.clear_attrs();
    absl::StrAppend(&text, PrintOp(desc), "\n");
  }
  return text;
}

}  // namespace fixpoint
