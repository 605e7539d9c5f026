#include "proto/program.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/attributes.h"
#include "proto/program_state.h"
#include "proto/status_macros.h"

namespace fixpoint {
namespace {

constexpr int kDeepestBlock = 256;

// Labels are spread over this range, so that there is room between any two.
constexpr uint64_t kOrderRange = uint64_t{1} << 62;

absl::Span<const Argument* const> SlotArguments(absl::Span<const Argument* const> arguments,
                                                absl::string_view slot) {
  size_t first = 0;
  while (first < arguments.size() && arguments[first]->slot_name() != slot) ++first;
  size_t last = first;
  while (last < arguments.size() && arguments[last]->slot() == arguments[first]->slot()) ++last;
  return arguments.subspan(first, last - first);
}

}  // namespace

absl::string_view Argument::slot_name() const {
  const OpDesc& desc = op_->desc();
  return (is_output_ ? desc.outputs(slot_) : desc.inputs(slot_)).parameter();
}

absl::string_view Argument::name() const {
  const OpDesc& desc = op_->desc();
  return (is_output_ ? desc.outputs(slot_) : desc.inputs(slot_)).arguments(index_);
}

absl::Span<const Argument* const> Op::Inputs(absl::string_view slot) const {
  return SlotArguments(inputs(), slot);
}

absl::Span<const Argument* const> Op::Outputs(absl::string_view slot) const {
  return SlotArguments(outputs(), slot);
}

const Argument* Op::Input(absl::string_view slot) const {
  const auto arguments = Inputs(slot);
  return arguments.size() == 1 ? arguments[0] : nullptr;
}

const Argument* Op::Output(absl::string_view slot) const {
  const auto arguments = Outputs(slot);
  return arguments.size() == 1 ? arguments[0] : nullptr;
}

const OpDesc::Attr* Op::FindAttr(absl::string_view name) const {
  return fixpoint::FindAttr(*desc_, name);
}

const Op* Op::next() const {
  const Op* op = next_;
  while (op != nullptr && op->removed_) op = op->next_;
  return op;
}

const Op* Op::previous() const {
  const Op* op = previous_;
  while (op != nullptr && op->removed_) op = op->previous_;
  return op;
}

int Op::Index() const {
  int index = 0;
  for (const Op* op = previous(); op != nullptr; op = op->previous()) ++index;
  return index;
}

bool Op::inserted() const { return edits_ != nullptr && edits_->inserted_by != nullptr; }

std::string Describe(const Op& op) {
  return absl::StrCat("block ", op.block().index(), ", op ", op.Index(), " (", op.type(), ")");
}

bool Variable::inserted() const { return edits_ != nullptr && edits_->inserted_by != nullptr; }

const VarType::TensorDesc* Variable::tensor() const {
  if (desc_ == nullptr) return nullptr;
  const VarType& type = desc_->type();
  switch (type.type()) {
    case VarType::LOD_TENSOR:
      return type.has_lod_tensor() ? &type.lod_tensor().tensor() : nullptr;
    case VarType::SELECTED_ROWS:
      return type.has_selected_rows() ? &type.selected_rows() : nullptr;
    case VarType::LOD_TENSOR_ARRAY:
      return type.has_tensor_array() ? &type.tensor_array().tensor() : nullptr;
    case VarType::SPARSE_COO:
      return type.has_sparse_coo() ? &type.sparse_coo() : nullptr;
    case VarType::SPARSE_CSR:
      return type.has_sparse_csr() ? &type.sparse_csr() : nullptr;
    default:
      return nullptr;
  }
}

std::vector<const Argument*> Variable::arguments() const {
  std::vector<const Argument*> arguments;
  for (const Argument* a = first_argument_; a != nullptr; a = a->next_) arguments.push_back(a);
  const auto place = [](const Argument* a) {
    return std::make_tuple(a->op_->block_->index(), a->op_->order_, a->is_output_, a->slot_,
                           a->index_);
  };
  std::sort(arguments.begin(), arguments.end(),
            [&place](const Argument* a, const Argument* b) { return place(a) < place(b); });
  return arguments;
}

const Op* Block::first_op() const {
  return first_ != nullptr && first_->removed_ ? first_->next() : first_;
}

const Op* Block::last_op() const {
  return last_ != nullptr && last_->removed_ ? last_->previous() : last_;
}

std::vector<const Variable*> Block::variables() const {
  std::vector<const Variable*> live;
  live.reserve(variables_.size());
  for (const Variable* variable : variables_) {
    if (!variable->removed_) live.push_back(variable);
  }
  return live;
}

Program::Program(std::unique_ptr<ProgramState> state) : state_(std::move(state)) {}

Program::Program() {
  ProgramMessage message;
  BlockDesc* block = message->add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  *this = *Create(std::move(message));
}

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

absl::StatusOr<Program> Program::Create(const ProgramDesc& desc, absl::string_view name) {
  return Create(ProgramMessage(desc), name);
}

absl::StatusOr<Program> Program::Create(ProgramMessage message, absl::string_view name) {
  auto state = std::make_unique<ProgramState>();
  state->name = std::string(name);
  state->desc = std::move(message);
  RETURN_IF_ERROR(state->Index());
  return Program(std::move(state));
}

const ProgramDesc& Program::Proto() const {
  state_->Flush();
  return *state_->desc;
}

Program Program::Clone() const { return *Create(Proto(), name()); }

const std::string& Program::name() const { return state_->name; }
int Program::block_count() const { return static_cast<int>(state_->blocks.size()); }
const Block& Program::block(int index) const { return state_->blocks[index]; }
int64_t Program::version() const { return state_->desc->version().version(); }
int Program::type_count() const { return static_cast<int>(state_->type_ids.size()); }

const Variable* Program::Find(const Block& block, absl::string_view name) const {
  const auto it = state_->name_table.find(name);
  return it == state_->name_table.end() ? nullptr : state_->Resolve(block, *it->second);
}

bool Program::HasName(absl::string_view name) const {
  const auto it = state_->name_table.find(name);
  return it != state_->name_table.end() && (it->second->reserved || state_->InUse(*it->second));
}

bool ProgramState::InUse(const Name& name) const {
  for (const Variable* variable = name.first; variable != nullptr;
       variable = variable->same_name_) {
    if (!variable->removed_ && (variable->desc_ != nullptr || variable->is_used())) return true;
  }
  return false;
}

absl::Status ProgramState::Index() {
  const auto error = [this](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat(name, name.empty() ? "" : ": ", parts...));
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
    Block& block = blocks.emplace_back();
    block.state_ = this;
    block.desc_ = &block_desc;
    if (i > 0) block.parent_ = &blocks[parent];
    if (forward >= 0) block.forward_ = &blocks[forward];
  }
  size_t name_count = 0;
  for (const BlockDesc& block : desc->blocks()) name_count += block.vars_size();
  name_table.reserve(name_count);
  for (Block& block : blocks) {
    block.variables_.reserve(block.desc_->vars_size());
    for (VarDesc& var : *block.desc_->mutable_vars()) {
      NewVariable(block, Intern(var.name()), &var);
    }
  }
  for (Block& block : blocks) {
    const uint64_t step = kOrderRange / (block.desc_->ops_size() + 1);
    for (OpDesc& op_desc : *block.desc_->mutable_ops()) {
      Op& op = *NewOp(block, &op_desc);
      op.previous_ = block.last_;
      op.order_ = (block.last_ == nullptr ? 0 : block.last_->order_) + step;
      (block.last_ == nullptr ? block.first_ : block.last_->next_) = &op;
      block.last_ = &op;
      ++block.op_count_;
      LinkArguments(op);
      if (absl::Status status = LinkSubBlocks(op); !status.ok()) return error(status.message());
    }
  }
  std::vector<int> depths(blocks.size(), 0);
  for (const Block& block : blocks) {
    const auto below = [&](const Block* above) {
      int& depth = depths[block.index()];
      if (above != nullptr) depth = std::max(depth, depths[above->index()] + 1);
    };
    below(block.parent_);
    below(block.forward_);
    below(block.owner_ == nullptr ? nullptr : &block.owner_->block());
    if (depths[block.index()] > kDeepestBlock) {
      return error("block ", block.index(), " is nested deeper than ", kDeepestBlock, " blocks");
    }
  }
  return absl::OkStatus();
}

Name* ProgramState::Intern(absl::string_view text) {
  const auto it = name_table.find(text);
  if (it != name_table.end()) return it->second;
  Name& name = names.emplace_back();
  name.text = std::string(text);
  name_table.emplace(name.text, &name);
  return &name;
}

Variable* ProgramState::Resolve(const Block& block, const Name& name) const {
  const auto declared_in = [&name](const Block* block) -> Variable* {
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
  // A gradient block sees what its forward block sees, and that before its own ancestors.
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
  if (desc != nullptr) block.variables_.push_back(&variable);
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
  op.role_ = static_cast<int>(IntAttr(*op.desc_, "op_role").value_or(0));
}

absl::Span<Argument*> ProgramState::NewArguments(size_t count) {
  if (count == 0) return {};
  return {google::protobuf::Arena::CreateArray<Argument*>(desc.arena(), count), count};
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
  const auto link = [&](const auto& slots, bool is_output) {
    size_t count = 0;
    for (const OpDesc::Var& slot : slots) count += slot.arguments_size();
    const absl::Span<Argument*> arguments = NewArguments(count);
    size_t next = 0;
    for (int slot = 0; slot < slots.size(); ++slot) {
      for (int index = 0; index < slots[slot].arguments_size(); ++index) {
        Argument* argument = NewArgument(op, is_output, slot, index);
        arguments[next++] = argument;
        Link(*argument, ResolveOrDeclare(*op.block_, slots[slot].arguments(index)));
      }
    }
    return arguments;
  };
  op.inputs_ = link(op.desc_->inputs(), false);
  op.outputs_ = link(op.desc_->outputs(), true);
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
  variable->values_known_ = false;
}

void ProgramState::Unlink(Argument& argument) {
  Variable* variable = argument.variable_;
  if (variable == nullptr) return;
  (argument.previous_ == nullptr ? variable->first_argument_ : argument.previous_->next_) =
      argument.next_;
  if (argument.next_ != nullptr) argument.next_->previous_ = argument.previous_;
  variable->values_known_ = false;
  argument.variable_ = nullptr;
  argument.previous_ = argument.next_ = nullptr;
}

absl::Status ProgramState::LinkSubBlocks(Op& op) {
  const auto add = [&](const OpDesc::Attr& attr, int index) -> absl::Status {
    if (index <= op.block_->index() || index >= static_cast<int>(blocks.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(op), ": attribute ", attr.name(), " is block ", index,
          "; the block that an op runs stands after the op's own, and the program has ",
          blocks.size()));
    }
    op.sub_blocks_.push_back(&blocks[index]);
    if (blocks[index].owner_ == nullptr) blocks[index].owner_ = &op;
    return absl::OkStatus();
  };
  for (const OpDesc::Attr& attr : op.desc_->attrs()) {
    if (attr.type() == AttrType::BLOCK) RETURN_IF_ERROR(add(attr, attr.block_idx()));
    if (attr.type() == AttrType::BLOCKS) {
      for (int index : attr.blocks_idx()) RETURN_IF_ERROR(add(attr, index));
    }
  }
  return absl::OkStatus();
}

void ProgramState::UnlinkSubBlocks(Op& op) {
  for (const Block* block : op.sub_blocks_) {
    if (block->owner_ == &op) blocks[block->index()].owner_ = nullptr;
  }
  if (!op.sub_blocks_.empty()) ForgetValues();
  op.sub_blocks_.clear();
}

void ProgramState::ForgetValues() {
  for (Variable& variable : variables) variable.values_known_ = false;
}

void ProgramState::Place(Op& op, Op* after) {
  Block& block = *op.block_;
  Op* before = after == nullptr ? block.first_ : after->next_;
  op.previous_ = after;
  op.next_ = before;
  (after == nullptr ? block.first_ : after->next_) = &op;
  (before == nullptr ? block.last_ : before->previous_) = &op;
  ++block.op_count_;
  block.stale_ = true;
  const uint64_t low = after == nullptr ? 0 : after->order_;
  const uint64_t high = before == nullptr ? kOrderRange : before->order_;
  if (high - low > 1) {
    op.order_ = low + (high - low) / 2;
    return;
  }
  // No room: spread the labels of the smallest aligned range around `op` that is sparse enough,
  // which keeps insertion at O(log n) amortized (Bender et al. 2002, "Two simplified algorithms
  // for maintaining order in a list").
  op.order_ = low;
  Op* first = &op;
  Op* last = &op;
  uint64_t count = 1;
  double capacity = 1;
  for (int bits = 1; bits <= 62; ++bits) {
    const uint64_t size = uint64_t{1} << bits;
    const uint64_t begin = low & ~(size - 1);
    for (; first->previous_ != nullptr && first->previous_->order_ >= begin; ++count) {
      first = first->previous_;
    }
    for (; last->next_ != nullptr && last->next_->order_ - begin < size; ++count) {
      last = last->next_;
    }
    capacity *= 1.4;
    if (static_cast<double>(count) > capacity && bits < 62) continue;
    const uint64_t step = size / (count + 1);
    uint64_t order = begin;
    for (Op* at = first;; at = at->next_) {
      at->order_ = order += step;
      if (at == last) return;
    }
  }
}

void ProgramState::Unplace(Op& op) {
  Block& block = *op.block_;
  (op.previous_ == nullptr ? block.first_ : op.previous_->next_) = op.next_;
  (op.next_ == nullptr ? block.last_ : op.next_->previous_) = op.previous_;
  block.stale_ = true;
}

void ProgramState::RemoveOp(Op& op) {
  UnlinkArguments(op);
  UnlinkSubBlocks(op);
  EditsOf(op);
  op.removed_ = true;
  --op.block_->op_count_;
  op.block_->stale_ = true;
}

void ProgramState::Flush() {
  for (Block& block : blocks) {
    if (block.stale_) FlushBlock(block);
  }
}

void ProgramState::FlushBlock(Block& block) {
  auto& ops = *block.desc_->mutable_ops();
  ops.UnsafeArenaExtractSubrange(0, ops.size(), nullptr);
  ops.Reserve(block.op_count_);
  for (Op* op = block.first_; op != nullptr; op = op->next_) {
    if (!op->removed_) ops.UnsafeArenaAddAllocated(op->desc_);
  }
  auto& vars = *block.desc_->mutable_vars();
  vars.UnsafeArenaExtractSubrange(0, vars.size(), nullptr);
  vars.Reserve(static_cast<int>(block.variables_.size()));
  for (Variable* variable : block.variables_) {
    if (!variable->removed_) vars.UnsafeArenaAddAllocated(variable->desc_);
  }
  block.stale_ = false;
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

}  // namespace fixpoint
