// Builds the index over the messages: names, variables, ops and arguments.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/program_state.h"

namespace fixpoint {
namespace {

// From this many declarations of one name on, they are found by block.
constexpr int kManyDeclarations = 8;

}  // namespace

absl::Status ProgramState::Index() {
  absl::Status status = IndexBlocks();
  if (status.ok()) {
    IndexVariables();
    status = IndexOps();
  }
  if (status.ok()) status = CheckDepth();
  if (status.ok() || name.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(name, ": ", std::string(status.message())));
}

absl::Status ProgramState::IndexBlocks() {
  const auto error = [](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (desc->blocks_size() == 0) return error("the program has no block; block 0 is its main block");
  for (int i = 0; i < desc->blocks_size(); ++i) {
    BlockDesc& block_desc = *desc->mutable_blocks(i);
    if (block_desc.idx() != i) {
      return error("block ", i, " says that it is block ", block_desc.idx(),
                   "; blocks stand in the order of their idx");
    }
    const int parent = block_desc.parent_idx();
    const int forward = block_desc.forward_block_idx();
    if (i == 0 ? parent >= 0 : parent < 0 || parent >= i) {
      return error("block ", i, ": parent_idx is ", parent, "; ",
                   i == 0 ? "that of block 0 is -1" : "a parent stands before its block");
    }
    if (forward >= i) {
      return error("block ", i, ": forward_block_idx is ", forward,
                   "; the forward block stands before its gradient block");
    }
    PlaceBlock(&block_desc);
  }
  block_count = original_block_count = desc->blocks_size();
  return CheckDepth();
}

Block& ProgramState::PlaceBlock(BlockDesc* block_desc) {
  if (block_desc->idx() == static_cast<int>(blocks.size())) blocks.emplace_back();
  Block& block = blocks[block_desc->idx()];
  const int parent = block_desc->parent_idx();
  const int forward = block_desc->forward_block_idx();
  block.state_ = this;
  block.desc_ = block_desc;
  block.parent_ = parent < 0 ? nullptr : &blocks[parent];
  block.forward_ = forward < 0 ? nullptr : &blocks[forward];
  return block;
}

std::vector<int> ProgramState::Depths(bool with_removed) const {
  std::vector<int> depths(blocks.size(), 0);
  const auto run_what_is_removed = [&](const Block& block) {
    for (const Op* op = block.first_; op != nullptr; op = op->next_) {
      if (!op->removed_) continue;
      for (const auto& [attr, index] : BlocksOf(*op->desc_)) {
        depths[index] = std::max(depths[index], depths[block.index()] + 1);
      }
    }
  };
  for (const Block& block : blocks) {
    int& depth = depths[block.index()];
    const Block* const owners = block.owner_ == nullptr ? nullptr : &block.owner_->block();
    for (const Block* above : {block.parent_, block.forward_, owners}) {
      if (above != nullptr) depth = std::max(depth, depths[above->index()] + 1);
    }
    const auto replaced = replaced_blocks.find(block.index());
    if (with_removed && replaced != replaced_blocks.end()) {
      const BlockDesc& original = *replaced->second;
      for (const int above : {original.parent_idx(), original.forward_block_idx()}) {
        if (above >= 0) depth = std::max(depth, depths[above] + 1);
      }
    }
    if (with_removed) run_what_is_removed(block);
  }
  return depths;
}

absl::Status ProgramState::CheckDepth(bool with_removed) const {
  const std::vector<int> depths = Depths(with_removed);
  // Of a block that was removed, the parent may be another one now.
  const int count = with_removed ? std::max(block_count, original_block_count) : block_count;
  for (int i = 0; i < count; ++i) {
    if (depths[i] <= kDeepestBlock) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("block ", i, " is nested deeper than ", kDeepestBlock, " blocks"));
  }
  return absl::OkStatus();
}

void ProgramState::IndexVariables() {
  size_t name_count = 0;
  for (const BlockDesc& block : desc->blocks()) name_count += block.vars_size();
  name_table.reserve(name_count);
  for (Block& block : blocks) {
    block.variables_.reserve(block.desc_->vars_size());
    for (VarDesc& var : *block.desc_->mutable_vars()) {
      NewVariable(block, Intern(var.name()), &var);
    }
  }
}

absl::Status ProgramState::IndexOps() {
  for (Block& block : blocks) {
    const int op_count = block.desc_->ops_size();
    const uint64_t step = kOrderRange / (op_count + 1);
    for (int i = 0; i < op_count; ++i) {
      if (i + 1 < op_count) Prefetch(block.desc_->ops(i + 1));
      OpDesc& op_desc = *block.desc_->mutable_ops(i);
      Op& op = *NewOp(block, &op_desc);
      op.previous_ = block.last_;
      op.order_ = (block.last_ == nullptr ? 0 : block.last_->order_) + step;
      (block.last_ == nullptr ? block.first_ : block.last_->next_) = &op;
      block.last_ = &op;
      op.position_ = block.op_count_++;
      LinkArguments(op);
      RETURN_IF_ERROR(LinkSubBlocks(op));
    }
  }
  return absl::OkStatus();
}

void ProgramState::Prefetch(const OpDesc& op) const {
  for (const OpDesc::Attr& attr : op.attrs()) __builtin_prefetch(&attr.name());
  for (const auto* slots : {&op.inputs(), &op.outputs()}) {
    for (const OpDesc::Var& slot : *slots) {
      for (const std::string& argument : slot.arguments()) name_table.prefetch(argument);
    }
  }
}

Name* ProgramState::Intern(absl::string_view text) {
  return *name_table.lazy_emplace(text, [&](const auto& insert) {
    Name& name = names.emplace_back();
    name.text = std::string(text);
    insert(&name);
  });
}

Variable* ProgramState::Resolve(const Block& block, const Name& name) const {
  const auto declared_in = [&](const Block* block) -> Variable* {
    if (name.declarations >= kManyDeclarations) {
      const auto it = declarations.find({block, &name});
      if (it == declarations.end()) return nullptr;
      if (!it->second->removed_) return it->second;
    }
    for (Variable* variable = name.first; variable != nullptr; variable = variable->same_name_) {
      if (variable->block_ == block && !variable->removed_ && variable->desc_ != nullptr) {
        return variable;
      }
    }
    return nullptr;
  };
  const Block* at = &block;
  if (Variable* variable = declared_in(at)) return variable;
  if (name.first == nullptr) return nullptr;
  // A gradient block sees what its forward block sees, and that takes precedence over its own
  // ancestors.
  if (at->forward() != nullptr) {
    for (at = at->forward(); at != nullptr; at = at->parent()) {
      if (Variable* variable = declared_in(at)) return variable;
    }
    at = &block;
  }
  for (at = at->parent(); at != nullptr; at = at->parent()) {
    if (Variable* variable = declared_in(at)) return variable;
  }
  return nullptr;
}

Variable* ProgramState::ResolveOrDeclare(const Block& block, absl::string_view text) {
  if (text == kEmptyArgument) return nullptr;
  Name* name = Intern(text);
  if (Variable* variable = Resolve(block, *name)) return variable;
  for (Variable* variable = name->first; variable != nullptr; variable = variable->same_name_) {
    if (variable->desc_ == nullptr && !variable->removed_) return variable;
  }
  return NewVariable(blocks[0], name, nullptr);
}

Variable* ProgramState::NewVariable(Block& block, Name* name, VarDesc* desc) {
  Variable& variable = variables.emplace_back();
  variable.name_ = name;
  variable.name_text_ = &name->text;
  variable.same_name_ = std::exchange(name->first, &variable);
  variable.desc_ = desc;
  variable.block_ = &block;
  if (desc == nullptr) return &variable;
  block.variables_.push_back(&variable);
  if (++name->declarations == kManyDeclarations) {
    for (Variable* known = name->first; known != nullptr; known = known->same_name_) {
      if (known->desc_ != nullptr) declarations.try_emplace({known->block_, name}, known);
    }
  } else if (name->declarations > kManyDeclarations) {
    declarations[{&block, name}] = &variable;
  }
  return &variable;
}

Op* ProgramState::NewOp(Block& block, OpDesc* desc) {
  Op& op = ops.emplace_back();
  op.desc_ = desc;
  op.block_ = &block;
  ReadOp(op);
  return &op;
}

void ProgramState::ReadOp(Op& op) {
  op.type_id_ =
      type_ids.try_emplace(op.desc_->type(), static_cast<int>(type_ids.size())).first->second;
  op.role_ = 0;
  op.has_own_attrs_ = false;
  for (const OpDesc::Attr& attr : op.desc_->attrs()) ReadAttr(op, attr);
}

void ProgramState::ReadAttr(Op& op, const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case AttrType::INT:
    case AttrType::LONG:
      if (attr.name() == "op_role") op.role_ = static_cast<int>(*IntValue(attr));
      break;
    case AttrType::STRING:
    case AttrType::STRINGS:
      op.has_own_attrs_ |= absl::StartsWith(attr.name(), kOwnAttrPrefix);
      break;
    case AttrType::VAR:
      Intern(attr.var_name())->in_attribute = true;
      break;
    case AttrType::VARS:
      for (const std::string& name : attr.vars_name()) Intern(name)->in_attribute = true;
      break;
    default:
      break;
  }
}

Argument* ProgramState::NewArgument(Op& op, bool is_output, int slot, int index) {
  Argument& argument = arguments.emplace_back();
  argument.op_ = &op;
  argument.is_output_ = is_output;
  argument.slot_ = slot;
  argument.index_ = index;
  return &argument;
}

void ProgramState::LinkArguments(Op& op) {
  const auto link = [&](const auto& slots, bool is_output, Op::Arguments& arguments) {
    arguments.clear();
    for (int slot = 0; slot < slots.size(); ++slot) {
      for (int index = 0; index < slots[slot].arguments_size(); ++index) {
        Argument* argument = NewArgument(op, is_output, slot, index);
        arguments.push_back(argument);
        Link(*argument, ResolveOrDeclare(*op.block_, slots[slot].arguments(index)));
      }
    }
  };
  link(op.desc_->inputs(), false, op.inputs_);
  link(op.desc_->outputs(), true, op.outputs_);
}

void ProgramState::UnlinkArguments(Op& op) {
  for (Argument* argument : op.inputs_) Unlink(*argument);
  for (Argument* argument : op.outputs_) Unlink(*argument);
}

void ProgramState::Link(Argument& argument, Variable* variable) {
  argument.variable_ = variable;
  argument.value_ = nullptr;
  if (variable == nullptr) return;
  argument.previous_ = nullptr;
  argument.next_ = variable->first_argument_;
  if (argument.next_ != nullptr) argument.next_->previous_ = &argument;
  variable->first_argument_ = &argument;
  variable->values_known_at_ = 0;
}

void ProgramState::Unlink(Argument& argument) {
  Variable* variable = argument.variable_;
  if (variable == nullptr) return;
  (argument.previous_ == nullptr ? variable->first_argument_ : argument.previous_->next_) =
      argument.next_;
  if (argument.next_ != nullptr) argument.next_->previous_ = argument.previous_;
  variable->values_known_at_ = 0;
  argument.variable_ = nullptr;
  argument.previous_ = argument.next_ = nullptr;
}

absl::Status ProgramState::CheckSubBlocks(const Op& op, const NamedBlocks& run,
                                          int block_count) const {
  for (const auto& [attr, index] : run) {
    if (index > op.block_->index() && index < block_count) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(op), ": attribute ", attr->name(), " is block ", index,
                     "; the block that an op runs stands after the op's own, and the program has ",
                     block_count));
  }
  return absl::OkStatus();
}

absl::Status ProgramState::LinkSubBlocks(Op& op) {
  const NamedBlocks run = BlocksOf(*op.desc_);
  RETURN_IF_ERROR(CheckSubBlocks(op, run, block_count));
  for (const auto& [attr, index] : run) {
    Block& block = blocks[index];
    op.sub_blocks_.push_back(&block);
    ++block.runners_;
    if (block.owner_ == nullptr) block.owner_ = &op;
  }
  return absl::OkStatus();
}

void ProgramState::UnlinkSubBlocks(Op& op) {
  if (op.sub_blocks_.empty()) return;
  ForgetValues();
  absl::flat_hash_set<const Block*> orphans;
  for (const Block* run : std::exchange(op.sub_blocks_, {})) {
    Block& block = blocks[run->index()];
    if (block.owner_ == &op) orphans.insert(run);
    if (--block.runners_ > 0) continue;
    block.owner_ = nullptr;
    orphans.erase(run);
  }
  if (!orphans.empty()) FindNextOwners(op, std::move(orphans));
}

void ProgramState::FindNextOwners(const Op& from, absl::flat_hash_set<const Block*> orphans) {
  const size_t first = from.block().index();
  for (size_t i = 0; i <= blocks.size(); ++i) {
    const Block& block = blocks[(first + i) % blocks.size()];
    for (const Op* op = i == 0 ? from.next() : block.first_op(); op != nullptr; op = op->next()) {
      for (const Block* run : op->sub_blocks_) {
        if (orphans.erase(run) > 0) blocks[run->index()].owner_ = op;
      }
      if (orphans.empty()) return;
    }
  }
}

void ProgramState::FindOwners() {
  for (Block& block : blocks) block.owner_ = nullptr;
  for (const Block& block : blocks) {
    for (const Op* op = block.first_op(); op != nullptr; op = op->next()) {
      for (const Block* run : op->sub_blocks_) {
        if (run->owner_ == nullptr) blocks[run->index()].owner_ = op;
      }
    }
  }
}

bool ProgramState::InUse(const Name& name) const {
  if (name.in_attribute) return true;
  for (const Variable* variable = name.first; variable != nullptr;
       variable = variable->same_name_) {
    if (!variable->removed_ && (variable->desc_ != nullptr || variable->is_used())) return true;
  }
  return false;
}

}  // namespace fixpoint
