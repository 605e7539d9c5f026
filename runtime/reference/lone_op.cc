#include "runtime/reference/lone_op.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"

namespace fixpoint::reference {

absl::StatusOr<LoneOp> LoneOp::Of(const Program& program, const Op& op) {
  ProgramDesc desc;
  *desc.mutable_version() = program.Proto().version();
  BlockDesc& block = *desc.add_blocks();
  block.set_idx(0);
  block.set_parent_idx(-1);
  absl::flat_hash_set<const Variable*> declared;
  for (const auto arguments : {op.inputs(), op.outputs()}) {
    for (const Argument* argument : arguments) {
      const Variable* const variable = argument->variable();
      if (variable == nullptr || variable->desc() == nullptr || !declared.insert(variable).second) {
        continue;
      }
      VarDesc& copy = *block.add_vars();
      copy = *variable->desc();
      copy.set_persistable(false);
    }
  }
  *block.add_ops() = op.desc();
  ASSIGN_OR_RETURN(Program alone, Program::Create(desc, program.name()));
  return LoneOp(std::make_shared<const Program>(std::move(alone)));
}

absl::StatusOr<std::vector<Tensor>> LoneOp::Run(absl::Span<const Feed> inputs,
                                                absl::Span<const std::string> outputs) const {
  Scope scope;
  ASSIGN_OR_RETURN(auto interpreter, Interpreter::Create(*program_, &scope));
  return interpreter.Run(inputs, outputs, /*step=*/0);
}

}  // namespace fixpoint::reference
