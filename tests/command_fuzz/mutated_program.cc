#include "tests/command_fuzz/mutated_program.h"

#include <google/protobuf/repeated_field.h>

#include <iterator>
#include <string>
#include <utility>

#include "tests/command_fuzz/mutated_bytes.h"
#include "tests/command_fuzz/mutated_message.h"

namespace fixpoint {
namespace {

using ::google::protobuf::RepeatedPtrField;

// A change of one kind, where there is something to change.
using Change = void (*)(Random* random, ProgramDesc* program);

// One of the list, or null where it is empty.
template <typename T>
T* AnyOf(RepeatedPtrField<T>* list, Random* random) {
  return list->empty() ? nullptr : list->Mutable(random->Below(list->size()));
}

BlockDesc* AnyBlock(Random* random, ProgramDesc* program) {
  return AnyOf(program->mutable_blocks(), random);
}

OpDesc* AnyOp(Random* random, ProgramDesc* program) {
  BlockDesc* const block = AnyBlock(random, program);
  return block == nullptr ? nullptr : AnyOf(block->mutable_ops(), random);
}

VarDesc* AnyVariable(Random* random, ProgramDesc* program) {
  BlockDesc* const block = AnyBlock(random, program);
  return block == nullptr ? nullptr : AnyOf(block->mutable_vars(), random);
}

RepeatedPtrField<OpDesc::Var>* AnySlots(Random* random, OpDesc* op) {
  return random->OneIn(3) ? op->mutable_outputs() : op->mutable_inputs();
}

OpDesc::Var* AnySlot(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  return op == nullptr ? nullptr : AnyOf(AnySlots(random, op), random);
}

VarType::TensorDesc* AnyTensor(Random* random, ProgramDesc* program) {
  VarDesc* const variable = AnyVariable(random, program);
  if (variable == nullptr || !variable->type().has_lod_tensor()) return nullptr;
  return variable->mutable_type()->mutable_lod_tensor()->mutable_tensor();
}

// Takes the last element to `place`, and moves what stands there and after it by one.
template <typename T>
void MoveLastTo(int place, RepeatedPtrField<T>* list) {
  for (int i = list->size() - 1; i > place; --i) list->SwapElements(i, i - 1);
}

void RemoveOp(Random* random, ProgramDesc* program) {
  auto* const ops = AnyBlock(random, program)->mutable_ops();
  if (!ops->empty()) ops->DeleteSubrange(random->Below(ops->size()), 1);
}

void RepeatOp(Random* random, ProgramDesc* program) {
  auto* const ops = AnyBlock(random, program)->mutable_ops();
  if (ops->empty()) return;
  const OpDesc copy = ops->Get(random->Below(ops->size()));
  *ops->Add() = copy;
  MoveLastTo(random->Below(ops->size()), ops);
}

void MoveOp(Random* random, ProgramDesc* program) {
  auto* const ops = AnyBlock(random, program)->mutable_ops();
  if (ops->empty()) return;
  const int from = random->Below(ops->size());
  OpDesc moved = std::move(*ops->Mutable(from));
  ops->DeleteSubrange(from, 1);
  *ops->Add() = std::move(moved);
  MoveLastTo(random->Below(ops->size()), ops);
}

void MoveOpToAnotherBlock(Random* random, ProgramDesc* program) {
  auto* const ops = AnyBlock(random, program)->mutable_ops();
  if (ops->empty()) return;
  const int from = random->Below(ops->size());
  OpDesc moved = std::move(*ops->Mutable(from));
  ops->DeleteSubrange(from, 1);
  *AnyBlock(random, program)->add_ops() = std::move(moved);
}

void RetypeOp(Random* random, ProgramDesc* program) {
  static const char* const kTypes[] = {"mul",    "conv2d", "matmul_v2",         "elementwise_add",
                                       "assign", "sum",    "conv2d_transpose",  "fc",
                                       "concat", "scale",  "reshape2",          "layer_norm",
                                       "while",  "sgd",    "dequantize_linear", "pool2d"};
  OpDesc* const op = AnyOp(random, program);
  const OpDesc* const other = AnyOp(random, program);
  if (op == nullptr || other == nullptr) return;
  const std::string type =
      random->OneIn(2) ? other->type() : kTypes[random->Below(static_cast<int>(std::size(kTypes)))];
  op->set_type(type);
}

// An argument becomes the name of another variable.
void Rewire(Random* random, ProgramDesc* program) {
  OpDesc::Var* const slot = AnySlot(random, program);
  const VarDesc* const variable = AnyVariable(random, program);
  if (slot == nullptr || variable == nullptr) return;
  if (slot->arguments().empty()) {
    slot->add_arguments(variable->name());
  } else {
    *slot->mutable_arguments(random->Below(slot->arguments_size())) = variable->name();
  }
}

// An argument becomes what another slot has, of the same op more often than not: in place, twice.
void RewireToASlot(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  if (op == nullptr) return;
  OpDesc::Var* const slot = AnyOf(AnySlots(random, op), random);
  const OpDesc::Var* const other =
      random->OneIn(3) ? AnySlot(random, program) : AnyOf(AnySlots(random, op), random);
  if (slot == nullptr || other == nullptr || slot->arguments().empty()) return;
  if (other->arguments().empty()) return;
  const std::string name = other->arguments(random->Below(other->arguments_size()));
  *slot->mutable_arguments(random->Below(slot->arguments_size())) = name;
}

void RemoveArgument(Random* random, ProgramDesc* program) {
  OpDesc::Var* const slot = AnySlot(random, program);
  if (slot == nullptr || slot->arguments().empty()) return;
  slot->mutable_arguments()->DeleteSubrange(random->Below(slot->arguments_size()), 1);
}

void RepeatArgument(Random* random, ProgramDesc* program) {
  OpDesc::Var* const slot = AnySlot(random, program);
  if (slot == nullptr || slot->arguments().empty()) return;
  const std::string name = slot->arguments(random->Below(slot->arguments_size()));
  slot->add_arguments(name);
}

void RemoveSlot(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  if (op == nullptr) return;
  auto* const slots = AnySlots(random, op);
  if (!slots->empty()) slots->DeleteSubrange(random->Below(slots->size()), 1);
}

// A slot of another op is added, or takes the place of one.
void TakeSlot(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  const OpDesc::Var* const other = AnySlot(random, program);
  if (op == nullptr || other == nullptr) return;
  const OpDesc::Var copy = *other;
  OpDesc::Var* const slot = random->OneIn(2) ? AnyOf(AnySlots(random, op), random) : nullptr;
  if (slot != nullptr) {
    slot->set_parameter(copy.parameter());
  } else {
    *AnySlots(random, op)->Add() = copy;
  }
}

void ChangeAttribute(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  OpDesc::Attr* const attr = op == nullptr ? nullptr : AnyOf(op->mutable_attrs(), random);
  if (attr != nullptr) ChangeAField(random, attr);
}

void RemoveAttribute(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  if (op == nullptr || op->attrs().empty()) return;
  op->mutable_attrs()->DeleteSubrange(random->Below(op->attrs_size()), 1);
}

void TakeAttribute(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  OpDesc* const other = AnyOp(random, program);
  const OpDesc::Attr* const attr =
      other == nullptr ? nullptr : AnyOf(other->mutable_attrs(), random);
  if (op == nullptr || attr == nullptr) return;
  const OpDesc::Attr copy = *attr;
  *op->add_attrs() = copy;
}

void ChangeExtent(Random* random, ProgramDesc* program) {
  VarType::TensorDesc* const tensor = AnyTensor(random, program);
  if (tensor == nullptr || tensor->dims().empty()) return;
  tensor->set_dims(random->Below(tensor->dims_size()), OddInteger(random));
}

void ChangeRank(Random* random, ProgramDesc* program) {
  VarType::TensorDesc* const tensor = AnyTensor(random, program);
  if (tensor == nullptr) return;
  if (random->OneIn(2) || tensor->dims().empty()) {
    tensor->add_dims(1 + random->Below(3));
  } else {
    tensor->mutable_dims()->RemoveLast();
  }
}

void ChangeElementType(Random* random, ProgramDesc* program) {
  static constexpr VarType::Type kTypes[] = {VarType::BOOL,  VarType::INT8,     VarType::UINT8,
                                             VarType::INT16, VarType::INT32,    VarType::INT64,
                                             VarType::FP16,  VarType::BF16,     VarType::FP32,
                                             VarType::FP64,  VarType::COMPLEX64};
  VarType::TensorDesc* const tensor = AnyTensor(random, program);
  if (tensor == nullptr) return;
  tensor->set_data_type(kTypes[random->Below(static_cast<int>(std::size(kTypes)))]);
}

void TakeType(Random* random, ProgramDesc* program) {
  VarDesc* const variable = AnyVariable(random, program);
  const VarDesc* const other = AnyVariable(random, program);
  if (variable == nullptr || other == nullptr) return;
  const VarType type = other->type();
  *variable->mutable_type() = type;
}

void ChangePersistable(Random* random, ProgramDesc* program) {
  VarDesc* const variable = AnyVariable(random, program);
  if (variable == nullptr) return;
  variable->set_persistable(!variable->persistable());
}

void RemoveVariable(Random* random, ProgramDesc* program) {
  auto* const variables = AnyBlock(random, program)->mutable_vars();
  if (!variables->empty()) variables->DeleteSubrange(random->Below(variables->size()), 1);
}

// A variable is declared in another block too, or once more in its own.
void RepeatVariable(Random* random, ProgramDesc* program) {
  const VarDesc* const variable = AnyVariable(random, program);
  if (variable == nullptr) return;
  const VarDesc copy = *variable;
  *AnyBlock(random, program)->add_vars() = copy;
}

void Rename(const std::string& from, const std::string& to, ProgramDesc* program) {
  for (BlockDesc& block : *program->mutable_blocks()) {
    for (VarDesc& variable : *block.mutable_vars()) {
      if (variable.name() == from) variable.set_name(to);
    }
    for (OpDesc& op : *block.mutable_ops()) {
      for (auto* slots : {op.mutable_inputs(), op.mutable_outputs()}) {
        for (OpDesc::Var& slot : *slots) {
          for (std::string& name : *slot.mutable_arguments()) {
            if (name == from) name = to;
          }
        }
      }
    }
  }
}

// Renames a variable everywhere, so that the program stays as valid as it was; or two variables
// become one.
void ChangeName(Random* random, ProgramDesc* program) {
  static const char* const kNames[] = {"",       "../evil", "a/b",         "@EMPTY@", "x@GRAD",
                                       "/etc/x", "a b",     "__model__",   "w@scale", "feed",
                                       "\xff",   "a,b",     "x.quantized", "x=y"};
  const VarDesc* const variable = AnyVariable(random, program);
  const VarDesc* const other = AnyVariable(random, program);
  if (variable == nullptr || other == nullptr) return;
  const std::string from = variable->name();
  const std::string to =
      random->OneIn(2) ? other->name() : kNames[random->Below(static_cast<int>(std::size(kNames)))];
  Rename(from, to, program);
}

void SwapNames(Random* random, ProgramDesc* program) {
  static constexpr char kMeanwhile[] = "exchanged for another";
  const VarDesc* const variable = AnyVariable(random, program);
  const VarDesc* const other = AnyVariable(random, program);
  if (variable == nullptr || other == nullptr) return;
  const std::string one = variable->name();
  const std::string two = other->name();
  // In the arguments, not in the declarations.
  ProgramDesc renamed = *program;
  Rename(one, kMeanwhile, &renamed);
  Rename(two, one, &renamed);
  Rename(kMeanwhile, two, &renamed);
  for (int i = 0; i < program->blocks_size(); ++i) {
    renamed.mutable_blocks(i)->mutable_vars()->Swap(program->mutable_blocks(i)->mutable_vars());
  }
  *program = std::move(renamed);
}

void ChangeParent(Random* random, ProgramDesc* program) {
  BlockDesc* const block = AnyBlock(random, program);
  block->set_parent_idx(random->OneIn(4) ? static_cast<int>(OddInteger(random))
                                         : random->Below(program->blocks_size()));
}

void RemoveBlock(Random* random, ProgramDesc* program) {
  if (program->blocks_size() < 2) return;
  program->mutable_blocks()->DeleteSubrange(random->Below(program->blocks_size()), 1);
}

void RepeatBlock(Random* random, ProgramDesc* program) {
  const BlockDesc copy = *AnyBlock(random, program);
  *program->add_blocks() = copy;
  if (!random->OneIn(3)) {
    program->mutable_blocks(program->blocks_size() - 1)->set_idx(program->blocks_size() - 1);
  }
}

// An op runs a block, its own or another one.
void RunBlock(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  if (op == nullptr) return;
  for (OpDesc::Attr& attr : *op->mutable_attrs()) {
    if (attr.has_block_idx()) {
      attr.set_block_idx(random->Below(program->blocks_size() + 1));
      return;
    }
  }
  OpDesc::Attr* const attr = op->add_attrs();
  attr->set_name("sub_block");
  attr->set_type(BLOCK);
  attr->set_block_idx(random->Below(program->blocks_size() + 1));
}

void ChangeRole(Random* random, ProgramDesc* program) {
  OpDesc* const op = AnyOp(random, program);
  if (op == nullptr) return;
  for (OpDesc::Attr& attr : *op->mutable_attrs()) {
    if (attr.name() == "op_role") attr.set_i(random->OneIn(3) ? 1 << random->Below(9) : 0);
  }
}

void ChangeAnything(Random* random, ProgramDesc* program) { ChangeAField(random, program); }

void ChangeVersion(Random* random, ProgramDesc* program) {
  static constexpr int kVersions[] = {0, 1000000, 1005000, 1008005, 2000000, 2006002, 3000000, -1};
  program->mutable_version()->set_version(
      kVersions[random->Below(static_cast<int>(std::size(kVersions)))]);
}

constexpr Change kChanges[] = {RemoveOp,
                               RemoveOp,
                               RepeatOp,
                               MoveOp,
                               MoveOpToAnotherBlock,
                               RetypeOp,
                               Rewire,
                               Rewire,
                               RewireToASlot,
                               RewireToASlot,
                               RemoveArgument,
                               RepeatArgument,
                               RemoveSlot,
                               TakeSlot,
                               ChangeAttribute,
                               ChangeAttribute,
                               ChangeAttribute,
                               ChangeAttribute,
                               RemoveAttribute,
                               TakeAttribute,
                               ChangeExtent,
                               ChangeExtent,
                               ChangeExtent,
                               ChangeRank,
                               ChangeElementType,
                               ChangeElementType,
                               TakeType,
                               ChangePersistable,
                               RemoveVariable,
                               RepeatVariable,
                               ChangeName,
                               SwapNames,
                               ChangeParent,
                               RemoveBlock,
                               RepeatBlock,
                               RunBlock,
                               ChangeRole,
                               ChangeAnything,
                               ChangeVersion};

}  // namespace

void MutateProgram(int count, Random* random, ProgramDesc* program) {
  for (int i = 0; i < count; ++i) {
    if (program->blocks().empty()) return;
    kChanges[random->Below(static_cast<int>(std::size(kChanges)))](random, program);
  }
}

}  // namespace fixpoint
