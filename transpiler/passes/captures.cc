#include "transpiler/passes/captures.h"

namespace fixpoint {
namespace {

// Whether an op in a block that `owner` runs, however deep, names the variable.
bool IsNamedInside(const Op& owner, const Variable& variable) {
  for (const Argument* argument : variable.arguments()) {
    for (const Op* op = argument->op().block().owner(); op != nullptr; op = op->block().owner()) {
      if (op == &owner) return true;
    }
  }
  return false;
}

const Argument* FindCaptured(const Op& owner, absl::string_view slot, absl::string_view name) {
  for (const Argument* captured : owner.Inputs(slot)) {
    if (captured->name() == name) return captured;
  }
  return nullptr;
}

}  // namespace

absl::string_view CaptureSlot(absl::string_view op_type) {
  if (op_type == "while" || op_type == "while_grad") return "X";
  if (op_type == "conditional_block" || op_type == "conditional_block_grad") return "Input";
  if (op_type == "recurrent" || op_type == "recurrent_grad") return "parameters";
  return "";
}

void CaptureParameters(const Block& block, const std::vector<std::string>& names,
                       const Variable& replaced, Rewriter* rewriter) {
  for (const Op* owner = block.owner(); owner != nullptr; owner = owner->block().owner()) {
    const absl::string_view slot = CaptureSlot(owner->type());
    if (slot.empty()) continue;
    for (const std::string& name : names) {
      if (FindCaptured(*owner, slot, name) != nullptr) continue;
      const Argument* old = FindCaptured(*owner, slot, replaced.name());
      if (old != nullptr && !IsNamedInside(*owner, replaced)) {
        rewriter->SetArgument(*old, name);
      } else {
        rewriter->AddInput(*owner, slot, name);
      }
    }
  }
}

}  // namespace fixpoint
