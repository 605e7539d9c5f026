#include "transpiler/pipeline/captures.h"

#include "absl/container/flat_hash_set.h"
#include "ops/forward_ops.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool IsInside(const Block& block, const Op& owner) {
  for (const Op* op = block.owner(); op != nullptr; op = op->block().owner()) {
    if (op == &owner) return true;
  }
  return false;
}

// The ops that `owner` runs, however deep.
std::vector<const Op*> OpsInside(const Op& owner) {
  std::vector<const Op*> ops;
  std::vector<const Block*> open(owner.sub_blocks().begin(), owner.sub_blocks().end());
  while (!open.empty()) {
    const Block& block = *open.back();
    open.pop_back();
    for (const Op& op : block.ops()) {
      ops.push_back(&op);
      open.insert(open.end(), op.sub_blocks().begin(), op.sub_blocks().end());
    }
  }
  return ops;
}

// Whether what an inner op reads was there before `owner` ran.
bool IsReadOfOutside(const Argument& input, const Op& owner) {
  if (input.variable() == nullptr || input.variable()->desc() == nullptr) return false;
  const Value& value = *input.value();
  const bool is_written = value.origin() == Value::Origin::kWrite;
  return !IsInside(is_written ? value.block() : input.variable()->block(), owner);
}

// Sets the arguments of an input slot.
void SetInputs(const Op& op, absl::string_view slot, const std::vector<std::string>& names,
               Rewriter* rewriter) {
  while (op.Inputs(slot).size() > names.size()) {
    rewriter->RemoveLastArgument(op, /*is_input=*/true, slot);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == op.Inputs(slot).size()) {
      rewriter->AddInput(op, slot, names[i]);
    } else if (op.Inputs(slot)[i]->name() != names[i]) {
      rewriter->SetArgument(*op.Inputs(slot)[i], names[i]);
    }
  }
}

}  // namespace

absl::string_view CaptureSlot(const Op& op) {
  if (op.sub_blocks().empty()) return "";
  const std::string forward_type = ForwardTypeOf(op.type());
  const OpSchema* const schema = FindOpSchema(forward_type.empty() ? op.type() : forward_type);
  return schema != nullptr ? absl::string_view(schema->traits().captures) : "";
}

std::vector<absl::string_view> NamesInAttributes(const Op& op) {
  std::vector<absl::string_view> names = VariablesInAttrs(op.desc());
  if (op.sub_blocks().empty()) return names;
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    if (attr.type() == STRING) names.push_back(attr.s());
    if (attr.type() == STRINGS) {
      names.insert(names.end(), attr.strings().begin(), attr.strings().end());
    }
  }
  return names;
}

std::vector<std::string> CapturesOf(const Op& owner) {
  const std::vector<const Op*> ops = OpsInside(owner);
  absl::flat_hash_set<const Variable*> named;
  const std::vector<absl::string_view> own_names = NamesInAttributes(owner);
  absl::flat_hash_set<absl::string_view> named_in_attributes(own_names.begin(), own_names.end());
  for (const Op* op : ops) {
    for (const Argument* input : op->inputs()) named.insert(input->variable());
    for (const Argument* output : op->outputs()) named.insert(output->variable());
    const std::vector<absl::string_view> names = NamesInAttributes(*op);
    named_in_attributes.insert(names.begin(), names.end());
  }
  std::vector<std::string> captures;
  absl::flat_hash_set<const Variable*> captured;
  for (const Argument* listed : owner.Inputs(CaptureSlot(owner))) {
    const Variable* variable = listed->variable();
    if (variable != nullptr && !named.contains(variable) &&
        !named_in_attributes.contains(variable->name())) {
      continue;
    }
    captures.emplace_back(listed->name());
    captured.insert(variable);
  }
  for (const Op* op : ops) {
    if (!op->inserted() && !op->changed()) continue;
    for (const Argument* input : op->inputs()) {
      if (IsReadOfOutside(*input, owner) && captured.insert(input->variable()).second) {
        captures.emplace_back(input->name());
      }
    }
  }
  return captures;
}

void UpdateCaptures(const Program& program, Rewriter* rewriter) {
  for (int b = program.block_count() - 1; b >= 0; --b) {
    for (const Op& op : program.block(b).ops()) {
      const absl::string_view slot = CaptureSlot(op);
      if (slot.empty()) continue;
      SetInputs(op, slot, CapturesOf(op), rewriter);
    }
  }
}

}  // namespace fixpoint
