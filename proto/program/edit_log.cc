// Stores edits in the program as a log, and reads them back.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/program_state.h"

namespace fixpoint {
namespace {

void Store(const OpEdits& edits, const OpDesc& desc, EditLog::OpChange& change) {
  if (edits.original != nullptr) {
    change.set_original(edits.original->SerializeAsString());
    return;
  }
  for (const OpEdits::ArgumentEdit& edit : edits.arguments) {
    EditLog::OpChange::Argument& argument = *change.add_arguments();
    argument.set_is_output(edit.is_output);
    argument.set_slot(edit.slot);
    argument.set_index(edit.index);
    if (edit.original.has_value()) argument.set_name(*edit.original);
  }
  for (const auto& [position, original] : edits.attributes) {
    EditLog::OpChange::Attribute& attribute = *change.add_attributes();
    attribute.set_position(position);
    attribute.set_original(original.SerializeAsString());
  }
  for (int i = desc.attrs_size() - edits.attributes_added; i < desc.attrs_size(); ++i) {
    change.add_added_attributes(desc.attrs(i).name());
  }
}

bool IsEmpty(const EditLog::OpChange& change) {
  return !change.has_original() && change.arguments_size() == 0 && change.attributes_size() == 0 &&
         change.added_attributes_size() == 0;
}

// Whether the fine-grained edits of a log name slots, arguments and attributes that the op has.
bool Fits(const EditLog::OpChange& change, const OpDesc& desc) {
  OpDesc rest = desc;
  for (int i = change.arguments_size() - 1; i >= 0; --i) {
    const EditLog::OpChange::Argument& argument = change.arguments(i);
    auto& slots = argument.is_output() ? *rest.mutable_outputs() : *rest.mutable_inputs();
    if (argument.slot() < 0 || argument.slot() >= slots.size()) return false;
    OpDesc::Var& slot = slots[argument.slot()];
    if (argument.index() < 0 || argument.index() >= slot.arguments_size()) return false;
    if (!argument.has_name()) slot.mutable_arguments()->RemoveLast();
  }
  const int kept = desc.attrs_size() - change.added_attributes_size();
  if (kept < 0) return false;
  for (int i = 0; i < change.added_attributes_size(); ++i) {
    if (desc.attrs(kept + i).name() != change.added_attributes(i)) return false;
  }
  for (const EditLog::OpChange::Attribute& attribute : change.attributes()) {
    if (attribute.position() < 0 || attribute.position() >= kept) return false;
  }
  return true;
}

bool NamesBlocks(const OpDesc::Attr& attr) {
  return attr.type() == AttrType::BLOCK || attr.type() == AttrType::BLOCKS;
}

std::vector<int> SubBlocks(const OpDesc& desc) {
  std::vector<int> indexes;
  for (const auto& [attr, index] : BlocksOf(desc)) indexes.push_back(index);
  return indexes;
}

template <typename... Parts>
absl::Status DoesNotFit(const Parts&... parts) {
  return absl::FailedPreconditionError(
      absl::StrCat("the edit log does not fit the program: ", parts...,
                   "; the program was changed after it was rewritten"));
}

// An edit never changes the blocks that an op runs.
absl::Status RunsOtherBlocks(const Op& op, const OpDesc::Attr& attr) {
  return DoesNotFit(Describe(op), ": attribute ", attr.name(), " names a block, or did");
}

absl::StatusOr<OpEdits> Read(const EditLog::OpChange& change, const Op& op) {
  OpEdits edits;
  if (change.has_original()) {
    edits.original = std::make_unique<OpDesc>();
    if (!edits.original->ParseFromString(change.original())) {
      return DoesNotFit(Describe(op), ": the original op cannot be read");
    }
    return edits;
  }
  if (!Fits(change, op.desc())) return DoesNotFit(Describe(op), " has other slots or attributes");
  for (const EditLog::OpChange::Argument& argument : change.arguments()) {
    edits.arguments.push_back(
        {argument.is_output(), argument.slot(), argument.index(),
         argument.has_name() ? std::make_optional(argument.name()) : std::nullopt});
  }
  for (const EditLog::OpChange::Attribute& attribute : change.attributes()) {
    OpDesc::Attr original;
    if (!original.ParseFromString(attribute.original())) {
      return DoesNotFit(Describe(op), ": an original attribute cannot be read");
    }
    const OpDesc::Attr& now = op.desc().attrs(attribute.position());
    if (original.name() != now.name()) {
      return DoesNotFit(Describe(op), ": attribute ", attribute.position(), " is not ",
                        original.name());
    }
    if (NamesBlocks(original) || NamesBlocks(now)) return RunsOtherBlocks(op, now);
    edits.attributes.emplace_back(attribute.position(), std::move(original));
  }
  edits.attributes_added = change.added_attributes_size();
  const auto& attrs = op.desc().attrs();
  for (int i = attrs.size() - edits.attributes_added; i < attrs.size(); ++i) {
    if (NamesBlocks(attrs[i])) return RunsOtherBlocks(op, attrs[i]);
  }
  return edits;
}

// A block without its ops and variables.
BlockDesc HeaderOf(const BlockDesc& desc) {
  BlockDesc header = desc;
  header.clear_ops();
  header.clear_vars();
  return header;
}

}  // namespace

EditLog* Program::mutable_edit_log() { return state_->desc->mutable_edit_log(); }
void Program::ClearEditLog() { state_->desc->clear_edit_log(); }

void Program::MakeEditLog(EditLog* log) const {
  if (const std::optional<CompositesEdit>& edit = state_->composites_edit) {
    EditLog::CompositesChange& change = *log->mutable_composites();
    if (edit->original) change.set_original(*edit->original);
  }
  const ProgramState& state = *state_;
  if (state.block_count != state.original_block_count) {
    log->set_block_count(state.original_block_count);
  }
  const int block_count = std::max(state.block_count, state.original_block_count);
  for (int i = 0; i < block_count; ++i) {
    const Block& block = state.blocks[i];
    EditLog::BlockEdits& edits = *log->add_blocks();
    state.StoreOpEdits(block, edits);
    state.StoreVariableEdits(block, edits);
    if (state.IsReplaced(block)) {
      const auto replaced = state.replaced_blocks.find(i);
      const bool is_other = replaced != state.replaced_blocks.end();
      edits.set_original(HeaderOf(is_other ? *replaced->second : *block.desc_).SerializeAsString());
    }
    if (edits.ops_size() + edits.vars_size() == 0 && !edits.has_original()) {
      log->mutable_blocks()->RemoveLast();
    } else {
      edits.set_block(block.index());
    }
  }
}

void ProgramState::StoreOpEdits(const Block& block, EditLog::BlockEdits& edits) const {
  int index = 0;
  for (const Op* op = block.first_; op != nullptr; op = op->next_) {
    const OpEdits* made = op->edits_.get();
    if (made != nullptr && !(op->removed_ && op->inserted())) {
      EditLog::OpEdit& edit = *edits.add_ops();
      edit.set_index(index);
      if (op->removed_) {
        edit.set_removed(op->OriginalDesc().SerializeAsString());
      } else if (op->inserted()) {
        edit.set_inserted_by(*made->inserted_by);
      } else {
        Store(*made, *op->desc_, *edit.mutable_changed());
      }
      if (edit.has_changed() && IsEmpty(edit.changed())) edits.mutable_ops()->RemoveLast();
    }
    if (!op->removed_) ++index;
  }
}

void ProgramState::StoreVariableEdits(const Block& block, EditLog::BlockEdits& edits) const {
  int index = 0;
  for (const Variable* variable : block.variables_) {
    const VariableEdits* made = variable->edits_.get();
    if (made != nullptr && !(variable->removed_ && variable->inserted())) {
      EditLog::VarEdit& edit = *edits.add_vars();
      edit.set_index(index);
      const VarDesc& original = made->original != nullptr ? *made->original : *variable->desc_;
      if (variable->removed_) {
        edit.set_removed(original.SerializeAsString());
      } else if (variable->inserted()) {
        edit.set_inserted_by(*made->inserted_by);
      } else {
        edit.set_original(original.SerializeAsString());
      }
    }
    if (!variable->removed_) ++index;
  }
}

absl::Status Program::AdoptEditLog(const EditLog& log) {
  state_->Flush();
  absl::Status status = state_->AdoptEdits(log);
  if (!status.ok()) ForgetEdits();
  return status;
}

absl::Status ProgramState::AdoptEdits(const EditLog& log) {
  if (log.has_composites()) {
    const EditLog::CompositesChange& change = log.composites();
    composites_edit.emplace();
    if (change.has_original()) composites_edit->original = change.original();
    edited = true;
  }
  RETURN_IF_ERROR(AdoptBlockEdits(log));
  for (const EditLog::BlockEdits& edits : log.blocks()) {
    if (edits.block() < 0 || edits.block() >= std::max(block_count, original_block_count)) {
      return DoesNotFit("there is no block ", edits.block());
    }
    Block& block = blocks[edits.block()];
    RETURN_IF_ERROR(AdoptOpEdits(block, edits));
    const std::vector<Variable*> declared = std::exchange(block.variables_, {});
    size_t next = 0;
    absl::Status status = AdoptVariableEdits(block, edits, declared, next);
    block.variables_.insert(block.variables_.end(), declared.begin() + next, declared.end());
    if (!status.ok()) return status;
  }
  RETURN_IF_ERROR(CheckAddedBlocks());
  const absl::Status depth = CheckDepth(/*with_removed=*/true);
  return depth.ok() ? depth : DoesNotFit("with its removed ops, ", std::string(depth.message()));
}

absl::Status ProgramState::AdoptBlockEdits(const EditLog& log) {
  if (log.has_block_count()) {
    if (log.block_count() < 1) return DoesNotFit("it had ", log.block_count(), " blocks");
    edited = true;
    original_block_count = log.block_count();
  }
  // Those that were removed come in their order.
  int placed = block_count;
  for (const EditLog::BlockEdits& edits : log.blocks()) {
    if (!edits.has_original()) continue;
    BlockDesc header;
    const bool is_header = header.ParseFromString(edits.original()) && header.ops().empty() &&
                           header.vars().empty() && header.idx() == edits.block();
    const int index = edits.block();
    if (!is_header || index < 1 || index >= original_block_count || index > placed ||
        header.parent_idx() < 0 || header.parent_idx() >= index ||
        header.forward_block_idx() >= index) {
      return DoesNotFit("it had no such block ", index);
    }
    edited = true;
    if (index < block_count) {
      replaced_blocks[index] = Own(header);
    } else {
      PlaceBlock(Own(header));
      placed = std::max(placed, index + 1);
    }
  }
  if (placed >= original_block_count) return absl::OkStatus();
  return DoesNotFit("it had ", original_block_count, " blocks, and does not say what block ",
                    placed, " was");
}

absl::Status ProgramState::CheckAddedBlocks() const {
  for (int i = 0; i < block_count; ++i) {
    const Block& block = blocks[i];
    const bool is_added = IsNew(i);
    // What was removed was in the block that stood here before.
    const bool stood_here = i < original_block_count;
    for (const Op* op = block.first_; op != nullptr; op = op->next_) {
      if (op->inserted() || (op->removed_ && stood_here)) continue;
      if (is_added) return DoesNotFit("block ", i, " was added, and its ops were not");
      for (const Block* run : op->sub_blocks_) {
        if (!IsNew(run->index())) continue;
        return DoesNotFit(Describe(*op), ": block ", run->index(),
                          " was added, and the op was not");
      }
    }
    for (const Variable* variable : block.variables_) {
      if (!is_added || variable->inserted() || (variable->removed_ && stood_here)) continue;
      return DoesNotFit("block ", i, " was added, and its variables were not");
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramState::AdoptOpEdits(Block& block, const EditLog::BlockEdits& edits) {
  Op* at = block.first_;
  int index = 0;
  for (const EditLog::OpEdit& edit : edits.ops()) {
    for (; at != nullptr && index < edit.index(); ++index) at = at->next_;
    if (index != edit.index() || (at == nullptr && !edit.has_removed())) {
      return DoesNotFit("block ", block.index(), " has no op ", edit.index());
    }
    if (!edit.has_removed() && at->edits_ != nullptr) {
      return DoesNotFit("block ", block.index(), ", op ", index, " was edited twice");
    }
    switch (edit.edit_case()) {
      case EditLog::OpEdit::kInsertedBy:
        EditsOf(*at).inserted_by = &*pass_names.insert(edit.inserted_by()).first;
        break;
      case EditLog::OpEdit::kChanged: {
        ASSIGN_OR_RETURN(EditsOf(*at), Read(edit.changed(), *at));
        MarkEdited(*at);
        const OpDesc* original = at->edits_->original.get();
        if (original != nullptr && SubBlocks(*original) != SubBlocks(*at->desc_)) {
          return DoesNotFit(Describe(*at), ": the original op runs other blocks");
        }
        break;
      }
      case EditLog::OpEdit::kRemoved: {
        OpDesc desc;
        if (!desc.ParseFromString(edit.removed())) {
          return DoesNotFit("block ", block.index(), ": a removed op cannot be read");
        }
        Op& op = *NewOp(block, Own(desc));
        EditsOf(op);
        if (!CheckSubBlocks(op, BlocksOf(desc), original_block_count).ok()) {
          return DoesNotFit("block ", block.index(),
                            ": a removed op runs a block that is not there");
        }
        Place(op, at == nullptr ? block.last_ : at->previous_);
        op.removed_ = true;
        --block.op_count_;
        break;
      }
      case EditLog::OpEdit::EDIT_NOT_SET:
        return DoesNotFit("block ", block.index(), ", op ", index, ": an edit of no kind");
    }
  }
  return absl::OkStatus();
}

void ProgramState::MarkEdited(Op& op) {
  for (const OpEdits::ArgumentEdit& edit : op.edits_->arguments) {
    Op::Arguments& arguments = edit.is_output ? op.outputs_ : op.inputs_;
    const auto argument = std::lower_bound(
        arguments.begin(), arguments.end(), edit,
        [](const Argument* a, const OpEdits::ArgumentEdit& wanted) {
          return std::make_pair(a->slot_, a->index_) < std::make_pair(wanted.slot, wanted.index);
        });
    (*argument)->edited_ = true;
  }
}

absl::Status ProgramState::AdoptVariableEdits(Block& block, const EditLog::BlockEdits& edits,
                                              const std::vector<Variable*>& declared,
                                              size_t& next) {
  for (const EditLog::VarEdit& edit : edits.vars()) {
    while (next < declared.size() && static_cast<int>(next) < edit.index()) {
      block.variables_.push_back(declared[next++]);
    }
    if (static_cast<int>(next) != edit.index() ||
        (next == declared.size() && !edit.has_removed())) {
      return DoesNotFit("block ", block.index(), " has no variable ", edit.index());
    }
    if (edit.has_inserted_by()) {
      EditsOf(*declared[next]).inserted_by = &*pass_names.insert(edit.inserted_by()).first;
      continue;
    }
    auto desc = std::make_unique<VarDesc>();
    if (!desc->ParseFromString(edit.has_removed() ? edit.removed() : edit.original())) {
      return DoesNotFit("block ", block.index(), ": an original variable cannot be read");
    }
    if (!edit.has_removed() && desc->name() != declared[next]->name()) {
      return DoesNotFit("block ", block.index(), ": variable ", edit.index(), " is not ",
                        desc->name());
    }
    if (edit.has_removed()) {
      Variable& variable = *NewVariable(block, Intern(desc->name()), Own(*desc));
      variable.removed_ = true;
      EditsOf(variable);
    } else {
      EditsOf(*declared[next]).original = std::move(desc);
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
