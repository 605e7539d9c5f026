#include "drop_callstacks.h"

#include "proto/program/program.h"
#include "proto/program/rewriter.h"

namespace out_of_tree {
namespace {

class DropCallstacks final : public fixpoint::Pass {
 public:
  absl::string_view name() const override { return "drop_callstacks"; }
  absl::string_view doc() const override {
    return "Drops op_callstack, which is most of a file that 1.x or 2.x wrote.";
  }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(fixpoint::Program& program, fixpoint::PassContext&) const override {
    fixpoint::Rewriter rewriter(&program, name());
    for (int b = 0; b < program.block_count(); ++b) {
      for (const fixpoint::Op& op : program.block(b).ops()) {
        rewriter.RemoveAttr(op, "op_callstack");
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<fixpoint::Pass> MakeDropCallstacks() { return std::make_unique<DropCallstacks>(); }

}  // namespace out_of_tree
