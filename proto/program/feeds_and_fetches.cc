#include "proto/program/feeds_and_fetches.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

void Append(absl::Span<const Argument* const> arguments, std::vector<const Variable*>* variables) {
  for (const Argument* argument : arguments) {
    if (argument->variable() != nullptr) variables->push_back(argument->variable());
  }
}

// The ops of a type, by column; ops without a column count as column 0.
std::vector<const Op*> ByColumn(const Block& block, absl::string_view type) {
  std::vector<const Op*> ops;
  for (const Op& op : block.ops()) {
    if (op.type() == type) ops.push_back(&op);
  }
  std::stable_sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) {
    return IntAttr(a->desc(), "col").value_or(0) < IntAttr(b->desc(), "col").value_or(0);
  });
  return ops;
}

// Whether an op reads the value in the block, and does not list it for a block that it runs.
bool IsRead(const Value& value) {
  const absl::Span<const Argument* const> readers = value.readers();
  return std::any_of(readers.begin(), readers.end(),
                     [](const Argument* reader) { return reader->op().sub_blocks().empty(); });
}

// Whether an op may read what the variable holds before any op writes it. A loop may begin with
// that; what a variable holds after a conditional says nothing, because another may write it.
bool IsReadBeforeItIsWritten(const Variable& variable) {
  const absl::Span<const Value* const> values = variable.values();
  absl::InlinedVector<const Value*, 2> held_first;
  for (const Value* value : values) {
    const bool is_first =
        value->origin() == Value::Origin::kEntry ||
        (value->origin() == Value::Origin::kLoopHead &&
         std::count(held_first.begin(), held_first.end(), value->merged().front()) > 0);
    if (!is_first) continue;
    if (variable.desc()->need_check_feed() || IsRead(*value)) return true;
    held_first.push_back(value);
  }
  return false;
}

bool IsWritten(const std::vector<const Argument*>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument* argument) { return argument->is_output(); });
}

}  // namespace

bool IsFeed(const Op& op) { return op.type() == kFeed; }
bool IsFetch(const Op& op) { return op.type() == kFetch; }

std::vector<const Variable*> FedVariables(const Program& program) {
  const Block& block = program.block(0);
  std::vector<const Variable*> fed;
  for (const Op* op : ByColumn(block, kFeed)) Append(op->outputs(), &fed);
  if (!fed.empty()) return fed;
  for (const Variable* variable : block.variables()) {
    if (variable->persistable() || !variable->is_dense_tensor()) continue;
    const std::vector<const Argument*> arguments = variable->arguments();
    if (arguments.empty()) continue;
    if (!IsWritten(arguments) || IsReadBeforeItIsWritten(*variable)) fed.push_back(variable);
  }
  return fed;
}

std::vector<const Variable*> FetchedVariables(const Program& program) {
  std::vector<const Variable*> fetched;
  for (const Op* op : ByColumn(program.block(0), kFetch)) Append(op->inputs(), &fetched);
  return fetched;
}

std::vector<std::string> NamesOf(const std::vector<const Variable*>& variables) {
  std::vector<std::string> names;
  for (const Variable* variable : variables) names.push_back(variable->name());
  return names;
}

}  // namespace fixpoint
