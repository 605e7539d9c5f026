#include "proto/program/rewriter.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program_state.h"

namespace fixpoint {
namespace {

// The graph is handed out read-only, so that a Rewriter is the only editor; this is where it
// becomes writable again.
template <typename Node>
Node& Writable(const Node& node) {
  return const_cast<Node&>(node);
}

// The slot whose arguments Op::Inputs and Op::Outputs return; if none of that name has any, the
// first of that name; -1 if there is none.
int FindSlot(const google::protobuf::RepeatedPtrField<OpDesc::Var>& slots, absl::string_view name) {
  int empty = -1;
  for (int i = 0; i < slots.size(); ++i) {
    if (slots[i].parameter() != name) continue;
    if (!slots[i].arguments().empty()) return i;
    if (empty < 0) empty = i;
  }
  return empty;
}

int CountAttrs(const OpDesc& op, absl::string_view name) {
  return static_cast<int>(
      std::count_if(op.attrs().begin(), op.attrs().end(),
                    [name](const OpDesc::Attr& attr) { return attr.name() == name; }));
}

}  // namespace

Rewriter::Rewriter(Program* program, absl::string_view pass)
    : state_(*program->state_), pass_(&*state_.pass_names.emplace(pass).first) {}

const Op& Rewriter::InsertBefore(const Op& place, const OpDesc& op) {
  return Insert(place.block(), Writable(place).previous_, state_.Own(op));
}

const Op& Rewriter::InsertAfter(const Op& place, const OpDesc& op) {
  return Insert(place.block(), &Writable(place), state_.Own(op));
}

const Op& Rewriter::Prepend(const Block& block, const OpDesc& op) {
  return Insert(block, nullptr, state_.Own(op));
}

const Op& Rewriter::Append(const Block& block, const OpDesc& op) {
  return Insert(block, Writable(block).last_, state_.Own(op));
}

const Op& Rewriter::InsertBefore(const Op& place, OpBuilder& op) {
  return Insert(place.block(), Writable(place).previous_, &op.op());
}

const Op& Rewriter::InsertAfter(const Op& place, OpBuilder& op) {
  return Insert(place.block(), &Writable(place), &op.op());
}

const Op& Rewriter::Prepend(const Block& block, OpBuilder& op) {
  return Insert(block, nullptr, &op.op());
}

const Op& Rewriter::Append(const Block& block, OpBuilder& op) {
  return Insert(block, Writable(block).last_, &op.op());
}

OpBuilder Rewriter::New(absl::string_view type) { return OpBuilder(type, state_.desc.arena()); }

const Op& Rewriter::Insert(const Block& block, Op* after, OpDesc* desc) {
  ++state_.edit_count;
  CHECK(desc->GetArena() == state_.desc.arena()) << "the op was not begun by New";
  Op& op = *state_.NewOp(Writable(block), desc);
  state_.EditsOf(op, pass_).inserted_by = pass_;
  state_.Place(op, after);
  state_.LinkArguments(op);
  const absl::Status status = state_.LinkSubBlocks(op);
  CHECK(status.ok()) << status.message();
  if (!op.sub_blocks_.empty()) state_.ForgetValues();
  return op;
}

bool Rewriter::CanAddBlock(const Block& parent) const {
  return state_.Depths(/*with_removed=*/false)[parent.index()] < kDeepestBlock;
}

const Block& Rewriter::AddBlock(const Block& parent, const Block* forward) {
  ++state_.edit_count;
  state_.edited = true;
  const int index = state_.block_count++;
  if (index < state_.original_block_count) {
    state_.replaced_blocks.try_emplace(index, state_.blocks[index].desc_);
  }
  BlockDesc* desc = state_.desc->add_blocks();
  desc->set_idx(index);
  desc->set_parent_idx(parent.index());
  if (forward != nullptr) desc->set_forward_block_idx(forward->index());
  const Block& block = state_.PlaceBlock(desc);
  CHECK(state_.CheckDepth().ok());
  return block;
}

void Rewriter::RemoveLastBlock() {
  ++state_.edit_count;
  state_.edited = true;
  const Block& last = state_.blocks[--state_.block_count];
  CHECK(last.index() > 0 && last.runners_ == 0 && last.op_count_ == 0) << last.index();
  CHECK(last.variables().empty()) << last.index();
  state_.desc->mutable_blocks()->UnsafeArenaExtractSubrange(last.index(), 1, nullptr);
}

void Rewriter::Remove(const Op& op) {
  CHECK(!op.removed()) << Describe(op);
  ++state_.edit_count;
  state_.EditsOf(Writable(op), pass_);
  state_.RemoveOp(Writable(op));
}

OpEdits* Rewriter::EditsOfOriginal(Op& op) {
  OpEdits& edits = state_.EditsOf(op, pass_);
  return edits.inserted_by != nullptr || edits.original != nullptr ? nullptr : &edits;
}

void Rewriter::KeepWhole(Op& op) {
  OpEdits* edits = EditsOfOriginal(op);
  if (edits == nullptr) return;
  auto original = std::make_unique<OpDesc>(*op.desc_);
  RevertFineEdits(*edits, *original);
  edits->arguments.clear();
  edits->attributes.clear();
  edits->attributes_added = 0;
  edits->original = std::move(original);
}

absl::Status Rewriter::RedirectReads(absl::Span<const Argument* const> reads,
                                     const Variable& variable) {
  const Name* const name = state_.Intern(variable.name());
  for (const Argument* read : reads) {
    CHECK(!read->is_output()) << Describe(read->op());
    if (state_.Resolve(read->op().block(), *name) == &variable) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(read->op()), ": is to read \"", variable.name(), "\" of block ",
                     variable.block().index(), ", and that name means another variable there"));
  }
  for (const Argument* read : reads) SetArgument(*read, variable.name());
  return absl::OkStatus();
}

absl::Status Rewriter::RedirectReads(absl::Span<const Argument* const> reads, const Value& value) {
  std::vector<std::string> before;
  for (const Argument* read : reads) before.emplace_back(read->name());
  if (absl::Status status = RedirectReads(reads, value.variable()); !status.ok()) return status;
  const auto wrong = std::find_if(reads.begin(), reads.end(), [&value](const Argument* read) {
    return read->value() != &value;
  });
  if (wrong == reads.end()) return absl::OkStatus();
  for (size_t i = 0; i < before.size(); ++i) SetArgument(*reads[i], before[i]);
  return absl::FailedPreconditionError(
      absl::StrCat(Describe((*wrong)->op()), ": is to read a value of \"", value.variable().name(),
                   "\", which holds another one there"));
}

void Rewriter::SetArgument(const Argument& argument, absl::string_view name) {
  if (argument.name() == name) return;
  ++state_.edit_count;
  Argument& changed = Writable(argument);
  OpEdits* edits = EditsOfOriginal(*changed.op_);
  if (edits != nullptr && !std::exchange(changed.edited_, true)) {
    edits->arguments.push_back(
        {argument.is_output(), argument.slot(), argument.index(), std::string(argument.name())});
  }
  OpDesc& desc = *changed.op_->desc_;
  OpDesc::Var* slot = argument.is_output() ? desc.mutable_outputs(argument.slot())
                                           : desc.mutable_inputs(argument.slot());
  state_.Unlink(changed);
  slot->set_arguments(argument.index(), std::string(name));
  state_.Link(changed, state_.ResolveOrDeclare(*changed.op_->block_, name));
}

void Rewriter::AddInput(const Op& op, absl::string_view slot, absl::string_view name) {
  AddArgument(op, /*is_output=*/false, slot, name);
}

void Rewriter::AddOutput(const Op& op, absl::string_view slot, absl::string_view name) {
  AddArgument(op, /*is_output=*/true, slot, name);
}

void Rewriter::AddArgument(const Op& op, bool is_output, absl::string_view slot_name,
                           absl::string_view name) {
  ++state_.edit_count;
  Op& changed = Writable(op);
  auto* slots = is_output ? changed.desc_->mutable_outputs() : changed.desc_->mutable_inputs();
  int slot = FindSlot(*slots, slot_name);
  if (slot < 0) {
    KeepWhole(changed);
    slot = slots->size();
    slots->Add()->set_parameter(std::string(slot_name));
  }
  const int index = (*slots)[slot].arguments_size();
  Argument* argument = state_.NewArgument(changed, is_output, slot, index);
  if (OpEdits* edits = EditsOfOriginal(changed)) {
    edits->arguments.push_back({is_output, slot, index, std::nullopt});
    argument->edited_ = true;
  }
  (*slots)[slot].add_arguments(std::string(name));
  Op::Arguments& arguments = is_output ? changed.outputs_ : changed.inputs_;
  arguments.insert(
      std::upper_bound(arguments.begin(), arguments.end(), slot,
                       [](int wanted, const Argument* a) { return wanted < a->slot(); }),
      argument);
  state_.Link(*argument, state_.ResolveOrDeclare(*changed.block_, name));
}

void Rewriter::RemoveLastArgument(const Op& op, bool is_input, absl::string_view slot) {
  ++state_.edit_count;
  Op& changed = Writable(op);
  KeepWhole(changed);
  Argument& last = Writable(*(is_input ? op.Inputs(slot) : op.Outputs(slot)).back());
  state_.Unlink(last);
  Op::Arguments& arguments = is_input ? changed.inputs_ : changed.outputs_;
  arguments.erase(std::find(arguments.begin(), arguments.end(), &last));
  (is_input ? changed.desc_->mutable_inputs(last.slot())
            : changed.desc_->mutable_outputs(last.slot()))
      ->mutable_arguments()
      ->RemoveLast();
}

void Rewriter::RemoveInputs(const Op& op, absl::string_view slot) {
  RemoveSlot(op, /*is_output=*/false, slot);
}

void Rewriter::RemoveOutputs(const Op& op, absl::string_view slot) {
  RemoveSlot(op, /*is_output=*/true, slot);
}

void Rewriter::RemoveSlot(const Op& op, bool is_output, absl::string_view slot_name) {
  Op& changed = Writable(op);
  auto* slots = is_output ? changed.desc_->mutable_outputs() : changed.desc_->mutable_inputs();
  const int position = FindSlot(*slots, slot_name);
  if (position < 0) return;
  ++state_.edit_count;
  KeepWhole(changed);
  slots->erase(slots->begin() + position);
  Op::Arguments& arguments = is_output ? changed.outputs_ : changed.inputs_;
  const auto first = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument* a) { return a->slot_ >= position; });
  const auto last =
      std::find_if(first, arguments.end(), [&](const Argument* a) { return a->slot_ > position; });
  for (auto argument = first; argument != last; ++argument) state_.Unlink(**argument);
  for (auto argument = last; argument != arguments.end(); ++argument) --(*argument)->slot_;
  arguments.erase(first, last);
}

void Rewriter::SetAttr(const Op& op, OpDesc::Attr attr) {
  CHECK(attr.type() != AttrType::BLOCK && attr.type() != AttrType::BLOCKS) << attr.name();
  if (CountAttrs(op.desc(), attr.name()) > 1) RemoveAttr(op, attr.name());
  ++state_.edit_count;
  Op& changed = Writable(op);
  OpEdits* edits = EditsOfOriginal(changed);
  auto* attrs = changed.desc_->mutable_attrs();
  for (int position = 0; position < attrs->size(); ++position) {
    if ((*attrs)[position].name() != attr.name()) continue;
    if (edits != nullptr && position < attrs->size() - edits->attributes_added) {
      const bool known =
          std::any_of(edits->attributes.begin(), edits->attributes.end(),
                      [position](const auto& edit) { return edit.first == position; });
      if (!known) edits->attributes.emplace_back(position, (*attrs)[position]);
    }
    (*attrs)[position] = std::move(attr);
    state_.ReadAttr(changed, (*attrs)[position]);
    return;
  }
  if (edits != nullptr) ++edits->attributes_added;
  *attrs->Add() = std::move(attr);
  state_.ReadAttr(changed, *attrs->rbegin());
}

void Rewriter::RemoveAttr(const Op& op, absl::string_view name) {
  if (CountAttrs(op.desc(), name) == 0) return;
  ++state_.edit_count;
  Op& changed = Writable(op);
  KeepWhole(changed);
  auto* attrs = changed.desc_->mutable_attrs();
  const auto is_removed = [name](const OpDesc::Attr& attr) {
    if (attr.name() != name) return false;
    CHECK(attr.type() != AttrType::BLOCK && attr.type() != AttrType::BLOCKS) << name;
    return true;
  };
  attrs->erase(std::remove_if(attrs->begin(), attrs->end(), is_removed), attrs->end());
  state_.ReadOp(changed);
}

absl::StatusOr<const Variable*> Rewriter::AddVariable(const Block& block, const VarDesc& desc) {
  return Declare(block, state_.Own(desc));
}

absl::StatusOr<const Variable*> Rewriter::AddVariable(const Block& block, absl::string_view name,
                                                      const VarType& type) {
  VarDesc* const desc = google::protobuf::Arena::CreateMessage<VarDesc>(state_.desc.arena());
  desc->set_name(std::string(name));
  *desc->mutable_type() = type;
  return Declare(block, desc);
}

const Variable& Rewriter::AddVariableOfNewBlock(const Block& block, absl::string_view name,
                                                const VarType& type) {
  CHECK(block.first_op() == nullptr) << "block " << block.index() << " has ops";
  VarDesc* const desc = google::protobuf::Arena::CreateMessage<VarDesc>(state_.desc.arena());
  desc->set_name(std::string(name));
  *desc->mutable_type() = type;
  return *DeclareNew(block, desc);
}

absl::StatusOr<const Variable*> Rewriter::AddTensor(const Block& block, absl::string_view name,
                                                    VarType::Type dtype,
                                                    absl::Span<const int64_t> dims,
                                                    bool persistable) {
  VarDesc* const desc = google::protobuf::Arena::CreateMessage<VarDesc>(state_.desc.arena());
  FillTensorVar(name, dtype, dims, desc);
  if (persistable) desc->set_persistable(true);
  return Declare(block, desc);
}

absl::StatusOr<const Variable*> Rewriter::Declare(const Block& block, VarDesc* desc) {
  Name* name = state_.Intern(desc->name());
  if (state_.InUse(*name)) {
    return absl::FailedPreconditionError(
        absl::StrCat("block ", block.index(), ": \"", desc->name(),
                     "\" cannot be declared: the name is in use; FreshName gives one that is not"));
  }
  return DeclareNew(block, desc);
}

const Variable* Rewriter::DeclareNew(const Block& block, VarDesc* desc) {
  ++state_.edit_count;
  Variable* variable = state_.NewVariable(Writable(block), state_.Intern(desc->name()), desc);
  state_.EditsOf(*variable, pass_).inserted_by = pass_;
  variable->block_->stale_ = true;
  return variable;
}

void Rewriter::SetVariable(const Variable& variable, VarDesc desc) {
  CHECK(variable.desc() != nullptr && variable.name() == desc.name()) << variable.name();
  ++state_.edit_count;
  Variable& changed = Writable(variable);
  VariableEdits& edits = state_.EditsOf(changed, pass_);
  if (edits.inserted_by == nullptr && edits.original == nullptr) {
    edits.original = std::make_unique<VarDesc>(*changed.desc_);
  }
  *changed.desc_ = std::move(desc);
}

void Rewriter::Remove(const Variable& variable) {
  CHECK(variable.desc() != nullptr && !variable.is_used()) << variable.name();
  ++state_.edit_count;
  Variable& removed = Writable(variable);
  state_.EditsOf(removed, pass_);
  removed.removed_ = true;
  removed.block_->stale_ = true;
}

void Rewriter::SetComposites(std::string serialized) {
  ProgramDesc& program = *state_.desc;
  if (!state_.composites_edit) {
    state_.composites_edit.emplace();
    if (program.has_composites()) state_.composites_edit->original = program.composites();
  }
  state_.edited = true;
  ++state_.edit_count;
  if (serialized.empty()) {
    program.clear_composites();
  } else {
    program.set_composites(std::move(serialized));
  }
}

std::string Rewriter::FreshName(absl::string_view base) {
  const auto taken = [this](absl::string_view text) {
    const Name* name = state_.Intern(text);
    return name->reserved || state_.InUse(*name);
  };
  std::string name(base);
  if (taken(name)) {
    int& counter = state_.fresh_counters[name];
    do {
      name = absl::StrCat(base, "_", ++counter);
    } while (taken(name));
  }
  Name* reserved = state_.Intern(name);
  reserved->reserved = true;
  state_.reserved_names.push_back(reserved);
  return name;
}

}  // namespace fixpoint
