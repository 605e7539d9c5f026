// Blocks and the variables that they declare.

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/verifier/checks.h"
#include "proto/program/program.h"
#include "proto/program/tensor_desc.h"

namespace fixpoint {
namespace {

void CheckVariable(const Block& block, const Variable& variable, FindingList* findings) {
  const VarType::TensorDesc* tensor = variable.tensor();
  if (tensor == nullptr) return;
  if (!IsElementType(tensor->data_type())) {
    findings->Error(FindingCode::kVariableType, block,
                    absl::StrCat("variable \"", variable.name(), "\" is a tensor of ",
                                 VarType::Type_Name(tensor->data_type()),
                                 ", which is no data type of a tensor"));
  }
  if (tensor->dims_size() > kMostDims) {
    findings->Error(FindingCode::kVariableType, block,
                    absl::StrCat("variable \"", variable.name(), "\" has ", tensor->dims_size(),
                                 " dimensions; want at most ", kMostDims));
    return;
  }
  for (int64_t dim : tensor->dims()) {
    if (dim >= -1) continue;
    // Everything treats it as unknown; 1.x wrote products of -1 and known sizes.
    findings->Warning(FindingCode::kVariableType, block,
                      absl::StrCat("variable \"", variable.name(), "\" is ",
                                   DimsText(DimsView(tensor->dims().data(), tensor->dims_size())),
                                   "; want sizes, or -1 where one is not known"));
    return;
  }
}

void CheckOwner(const Block& block, FindingList* findings) {
  if (block.index() == 0) return;
  const Op* owner = block.owner();
  if (owner == nullptr) {
    findings->Warning(FindingCode::kBlockStructure, block, "no op runs this block");
  } else if (block.forward() == nullptr && &owner->block() != block.parent()) {
    findings->Error(FindingCode::kBlockStructure, *owner,
                    absl::StrCat("the op runs block ", block.index(), ", whose parent is block ",
                                 block.parent()->index(), "; want block ", owner->block().index(),
                                 ", in which the op stands"));
  }
}

}  // namespace

void CheckSubBlocks(const Op& op, FindingList* findings) {
  for (const Block* run : op.sub_blocks()) {
    if (run->owner() == &op) continue;
    findings->Error(FindingCode::kBlockStructure, op,
                    absl::StrCat("the op runs block ", run->index(),
                                 ", which another op runs too; want a block of its own"));
  }
}

void CheckBlock(const Block& block, FindingList* findings) {
  CheckOwner(block, findings);
  const std::vector<const Variable*> variables = block.variables();
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(variables.size());
  for (const Variable* variable : variables) {
    CheckVariable(block, *variable, findings);
    if (!names.insert(variable->name()).second) {
      findings->Error(FindingCode::kDuplicateVariable, block,
                      absl::StrCat("variable \"", variable->name(), "\" is declared twice"));
    }
  }
}

}  // namespace fixpoint
