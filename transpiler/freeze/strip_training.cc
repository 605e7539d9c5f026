// strip_training: removes what only training runs: ops with the Backward, Optimize or LRSched bit,
// in every block, and references to a parameter's gradient in the op_role_var of ops that stay. A
// gradient block that nothing runs any more stays as an empty block, because ops refer to blocks by
// their position.
//
//   mul(X=x, Y=w) -> (Out=y) {op_role=0}
//   mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
//   sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
//
//   mul(X=x, Y=w) -> (Out=y) {op_role=0}

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/forward_ops.h"
#include "ops/op_form.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/program/role_variables.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {
namespace {

bool IsTraining(const Op& op) { return !IsForwardRole(op.role()); }

// Error (kFailedPrecondition): `op`, which stays, reads what a training op computes. A persistable
// variable exists without the op that updates it.
absl::Status CheckReads(const Op& op) {
  for (const Argument* input : op.inputs()) {
    const Value* value = input->value();
    if (value == nullptr || value->origin() == Value::Origin::kEntry ||
        value->variable().persistable() || !IsTraining(*value->op())) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeInFile(op), ": reads \"", input->name(), "\", which ", DescribeInFile(*value->op()),
        " computes, an op of training; a test program has none of those, so the op's op_role has "
        "to say that it is one too"));
  }
  return absl::OkStatus();
}

class StripTraining final : public Pass {
 public:
  absl::string_view name() const override { return "strip_training"; }
  absl::string_view doc() const override {
    return "Removes the ops of the backward pass, the optimizers and the learning rate's schedule.";
  }
  std::vector<std::string> Establishes() const override { return {"training_stripped"}; }

  absl::Status Run(Program& program, PassContext&) const override {
    std::vector<const Op*> removed;
    std::vector<const Op*> naming_gradients;
    // A block comes after the one whose op runs it.
    std::vector<bool> runs(program.block_count(), true);
    for (int b = 0; b < program.block_count(); ++b) {
      const Block& block = program.block(b);
      const Op* owner = block.owner();
      runs[b] = b == 0 || (owner != nullptr && runs[owner->block().index()] && !IsTraining(*owner));
      for (const Op& op : block.ops()) {
        if (runs[b] && !IsTraining(op)) {
          RETURN_IF_ERROR(CheckReads(op));
          if (!RoleVariables(op.desc()).empty()) naming_gradients.push_back(&op);
        } else {
          removed.push_back(&op);
        }
      }
    }
    Rewriter rewriter(&program, name());
    for (const Op* op : removed) rewriter.Remove(*op);
    for (const Op* op : naming_gradients) rewriter.RemoveAttr(*op, kRoleVarAttr);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeStripTraining() { return std::make_unique<StripTraining>(); }

}  // namespace fixpoint
