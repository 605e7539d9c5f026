#include "transpiler/prepare/constants.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/reference/kernels.h"

namespace fixpoint {
namespace {

// A program of that op alone, whose variables are as the program declares them, and are kept by no
// run.
absl::StatusOr<Program> ProgramOf(const Program& program, const Op& op) {
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
  return Program::Create(desc, program.name());
}

}  // namespace

const Tensor* FindConstant(const Argument* input, const EditedParameters& parameters,
                           const Op* passes_on) {
  if (input == nullptr || input->value() == nullptr || !input->variable()->persistable() ||
      input->value()->origin() != Value::Origin::kEntry) {
    return nullptr;
  }
  const auto values = input->variable()->values();
  const bool is_written = std::any_of(values.begin(), values.end(), [&](const Value* value) {
    return value != input->value() && value->op() != passes_on;
  });
  if (is_written) return nullptr;
  const Scope::Value* const value = parameters.FindOrNull(input->name());
  return value == nullptr ? nullptr : std::get_if<Tensor>(value);
}

bool IsFunction(const Op& op) {
  return FindOpSchema(op.type()) != nullptr && !TraitsOf(op).draws_numbers &&
         reference::FindKernel(op.type()) != nullptr && op.sub_blocks().empty() &&
         VariablesInAttrs(op.desc()).empty();
}

bool IsConstant(const Op& op, const EditedParameters& parameters) {
  return IsFunction(op) &&
         std::all_of(op.inputs().begin(), op.inputs().end(), [&parameters](const Argument* input) {
           return input->value() == nullptr || FindConstant(input, parameters) != nullptr;
         });
}

absl::StatusOr<std::vector<Tensor>> Evaluate(const Program& program, const Op& op,
                                             absl::Span<const Argument* const> outputs,
                                             const EditedParameters& parameters) {
  ASSIGN_OR_RETURN(const Program alone, ProgramOf(program, op));
  std::vector<Feed> feeds;
  for (const Argument* input : op.inputs()) {
    const Tensor* const tensor = FindConstant(input, parameters);
    if (tensor != nullptr) feeds.push_back({input->name(), tensor});
  }
  std::vector<std::string> fetches;
  for (const Argument* output : outputs) fetches.emplace_back(output->name());
  Scope scope;
  ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Create(alone, &scope));
  return interpreter.Run(feeds, fetches, /*step=*/0);
}

}  // namespace fixpoint
