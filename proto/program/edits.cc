// Undoes edits.

#include <glog/logging.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/program_state.h"

namespace fixpoint {

namespace {

void RevertArguments(const OpEdits& edits, OpDesc& desc) {
  // Added arguments are taken from the end of their slots, so the last edit goes first.
  for (auto edit = edits.arguments.rbegin(); edit != edits.arguments.rend(); ++edit) {
    OpDesc::Var* slot =
        edit->is_output ? desc.mutable_outputs(edit->slot) : desc.mutable_inputs(edit->slot);
    if (edit->original.has_value()) {
      slot->set_arguments(edit->index, *edit->original);
    } else {
      slot->mutable_arguments()->RemoveLast();
    }
  }
}

bool Contains(const EditingPasses& passes, absl::string_view name) {
  return std::any_of(passes.begin(), passes.end(),
                     [name](const std::string* pass) { return *pass == name; });
}

}  // namespace

void RevertFineEdits(const OpEdits& edits, OpDesc& desc) {
  RevertArguments(edits, desc);
  for (const auto& [position, original] : edits.attributes)
    *desc.mutable_attrs(position) = original;
  for (int i = 0; i < edits.attributes_added; ++i) desc.mutable_attrs()->RemoveLast();
}

bool Op::EditedBy(absl::string_view pass) const {
  return edits_ != nullptr && Contains(edits_->passes, pass);
}

bool Variable::EditedBy(absl::string_view pass) const {
  return edits_ != nullptr && Contains(edits_->passes, pass);
}

OpDesc Op::OriginalDesc() const {
  if (edits_ == nullptr) return *desc_;
  if (edits_->original != nullptr) return *edits_->original;
  OpDesc original = *desc_;
  RevertFineEdits(*edits_, original);
  return original;
}

OpDesc Op::OriginalSlots() const {
  const bool is_whole = edits_ != nullptr && edits_->original != nullptr;
  const OpDesc& from = is_whole ? *edits_->original : *desc_;
  OpDesc slots;
  slots.set_type(from.type());
  *slots.mutable_inputs() = from.inputs();
  *slots.mutable_outputs() = from.outputs();
  if (edits_ != nullptr && !is_whole) RevertArguments(*edits_, slots);
  return slots;
}

std::vector<std::string> Op::ChangedAttrs() const {
  std::vector<std::string> changed;
  if (edits_ == nullptr) return changed;
  const auto is_same = [](const OpDesc::Attr& a, const OpDesc::Attr& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  if (edits_->original == nullptr) {
    for (const auto& [position, before] : edits_->attributes) {
      if (!is_same(before, desc_->attrs(position))) changed.push_back(before.name());
    }
    for (int i = desc_->attrs_size() - edits_->attributes_added; i < desc_->attrs_size(); ++i) {
      changed.push_back(desc_->attrs(i).name());
    }
    return changed;
  }
  for (const OpDesc::Attr& before : edits_->original->attrs()) {
    const OpDesc::Attr* now = FindAttr(before.name());
    if (now == nullptr || !is_same(before, *now)) changed.push_back(before.name());
  }
  for (const OpDesc::Attr& now : desc_->attrs()) {
    if (fixpoint::FindAttr(*edits_->original, now.name()) == nullptr) changed.push_back(now.name());
  }
  return changed;
}

std::vector<const Op*> Block::removed_ops() const {
  std::vector<const Op*> removed;
  for (const Op* op = first_; op != nullptr; op = op->next_) {
    if (op->removed_ && !op->inserted()) removed.push_back(op);
  }
  return removed;
}

std::vector<const Variable*> Block::removed_variables() const {
  std::vector<const Variable*> removed;
  for (const Variable* variable : variables_) {
    if (variable->removed_ && !variable->inserted()) removed.push_back(variable);
  }
  return removed;
}

OpEdits& ProgramState::EditsOf(Op& op) {
  edited = true;
  if (op.edits_ == nullptr) op.edits_ = std::make_unique<OpEdits>();
  return *op.edits_;
}

VariableEdits& ProgramState::EditsOf(Variable& variable) {
  edited = true;
  if (variable.edits_ == nullptr) variable.edits_ = std::make_unique<VariableEdits>();
  return *variable.edits_;
}

bool ProgramState::IsReplaced(const Block& block) const {
  if (block.index() >= original_block_count) return false;
  return block.index() >= block_count || replaced_blocks.contains(block.index());
}

bool ProgramState::IsNew(int block) const {
  return block >= original_block_count || replaced_blocks.contains(block);
}

bool Program::edited() const { return state_->edited; }
int64_t Program::edit_count() const { return state_->edit_count; }

void ProgramState::RevertOp(Op& op) {
  if (op.edits_ == nullptr || op.inserted()) return;
  if (!op.removed_) UnlinkArguments(op);
  if (op.edits_->original != nullptr) {
    *op.desc_ = *op.edits_->original;
  } else {
    RevertFineEdits(*op.edits_, *op.desc_);
  }
  ReadOp(op);
  if (op.removed_) {
    op.removed_ = false;
    ++op.block_->op_count_;
    op.block_->stale_ = true;
    const absl::Status status = LinkSubBlocks(op);
    CHECK(status.ok()) << status.message();
    ForgetValues();
  }
}

void ProgramState::RevertBlocks() {
  auto& messages = *desc->mutable_blocks();
  messages.UnsafeArenaExtractSubrange(0, messages.size(), nullptr);
  block_count = original_block_count;
  for (int i = 0; i < block_count; ++i) {
    const auto replaced = replaced_blocks.find(i);
    if (replaced != replaced_blocks.end()) PlaceBlock(replaced->second).stale_ = true;
    messages.UnsafeArenaAddAllocated(blocks[i].desc_);
  }
  replaced_blocks.clear();
}

void Program::RevertEdits() {
  ProgramState& state = *state_;
  if (!state.edited) return;
  // Done first, so that no block has an owner that disappears when its own comes back.
  for (Block& block : state.blocks) {
    for (Op* op = block.first_; op != nullptr; op = op->next_) {
      if (op->inserted() && !op->removed_) state.RemoveOp(*op);
    }
  }
  state.RevertBlocks();
  for (Block& block : state.blocks) {
    std::vector<Op*> edited;
    for (Op* op = block.first_; op != nullptr; op = op->next_) {
      if (op->edits_ != nullptr) edited.push_back(op);
    }
    for (Op* op : edited) state.RevertOp(*op);
    std::vector<Variable*> kept;
    for (Variable* variable : block.variables_) {
      VariableEdits* edits = variable->edits_.get();
      if (variable->inserted()) {
        block.stale_ |= !std::exchange(variable->removed_, true);
        continue;
      }
      if (edits != nullptr && edits->original != nullptr) {
        *variable->desc_ = *edits->original;
      }
      block.stale_ |= std::exchange(variable->removed_, false);
      kept.push_back(variable);
    }
    if (block.stale_) state.FlushBlock(block);
    block.variables_ = std::move(kept);
    for (Op* op : edited) {
      if (!op->removed_) state.LinkArguments(*op);
    }
  }
  state.FindOwners();
  if (state.composites_edit) {
    state.desc->clear_composites();
    const std::optional<std::string>& original = state.composites_edit->original;
    if (original) state.desc->set_composites(*original);
  }
  ForgetEdits();
}

void Program::ForgetEdits() {
  ProgramState& state = *state_;
  for (Name* name : state.reserved_names) name->reserved = false;
  state.reserved_names.clear();
  state.fresh_counters.clear();
  if (!state.edited) return;
  state.composites_edit.reset();
  state.original_block_count = state.block_count;
  state.replaced_blocks.clear();
  state.Flush();
  for (Block& block : state.blocks) {
    for (Op* op = block.first_; op != nullptr; op = op->next_) {
      if (op->removed_) {
        state.Unplace(*op);
      } else if (op->edits_ != nullptr) {
        op->edits_.reset();
        for (Argument* argument : op->inputs_) argument->edited_ = false;
        for (Argument* argument : op->outputs_) argument->edited_ = false;
      }
    }
    std::vector<Variable*> kept;
    for (Variable* variable : block.variables_) {
      if (variable->removed_) continue;
      variable->edits_.reset();
      kept.push_back(variable);
    }
    block.variables_ = std::move(kept);
    block.stale_ = false;
  }
  state.edited = false;
}

}  // namespace fixpoint
