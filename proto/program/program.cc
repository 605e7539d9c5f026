#include "proto/program/program.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program_state.h"
#include "proto/program/slots.h"
#include "proto/program/tensor_desc.h"
#include "proto/wire/required_fields.h"

namespace fixpoint {
namespace {

// The part of `arguments`, which are those of all `slots`, that belongs to the first slot of that
// name that has any.
absl::Span<const Argument* const> SlotArguments(absl::Span<const Argument* const> arguments,
                                                const Slots& slots, absl::string_view name) {
  size_t first = 0;
  for (const OpDesc::Var& slot : slots) {
    const size_t size = slot.arguments_size();
    if (size > 0 && slot.parameter() == name) return arguments.subspan(first, size);
    first += size;
  }
  return {};
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
  return SlotArguments(inputs(), desc_->inputs(), slot);
}

absl::Span<const Argument* const> Op::Outputs(absl::string_view slot) const {
  return SlotArguments(outputs(), desc_->outputs(), slot);
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
  if (removed_) {
    const Op* const before = previous();
    return before == nullptr ? 0 : before->Index() + 1;
  }
  if (block_->stale_) block_->state_->FlushBlock(*block_);
  return position_;
}

bool Op::inserted() const { return edits_ != nullptr && edits_->inserted_by != nullptr; }

int Op::OriginalIndex() const {
  int index = 0;
  for (const Op* op = previous_; op != nullptr; op = op->previous_) index += op->inserted() ? 0 : 1;
  return index;
}

std::string Describe(const Op& op) {
  return absl::StrCat("block ", op.block().index(), ", op ", op.Index(), " (", op.type(), ")");
}

std::string DescribeInFile(const Op& op) {
  if (op.inserted()) return Describe(op);
  return absl::StrCat("block ", op.block().index(), ", op ", op.OriginalIndex(), " (", op.type(),
                      ")");
}

bool Variable::inserted() const { return edits_ != nullptr && edits_->inserted_by != nullptr; }

const VarType::TensorDesc* Variable::tensor() const {
  return desc_ != nullptr ? TensorOf(*desc_) : nullptr;
}

bool Variable::is_dense_tensor() const {
  return tensor() != nullptr && desc_->type().type() == VarType::LOD_TENSOR;
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
  RETURN_IF_ERROR(CheckRequiredFields(desc, name.empty() ? "the program" : name));
  return Create(ProgramMessage(desc), name);
}

absl::StatusOr<Program> Program::Create(ProgramMessage message, absl::string_view name) {
  auto state = std::make_unique<ProgramState>(std::move(message));
  state->name = std::string(name);
  RETURN_IF_ERROR(state->Index());
  return Program(std::move(state));
}

const ProgramDesc& Program::Proto() const {
  state_->Flush();
  return *state_->desc;
}

Program Program::Clone() const { return *Create(Proto(), name()); }

const std::string& Program::name() const { return state_->name; }
int Program::block_count() const { return state_->block_count; }
const Block& Program::block(int index) const { return state_->blocks[index]; }
int64_t Program::version() const { return state_->desc->version().version(); }
int Program::type_count() const { return static_cast<int>(state_->type_ids.size()); }

const Variable* Program::Find(const Block& block, absl::string_view name) const {
  const auto it = state_->name_table.find(name);
  return it == state_->name_table.end() ? nullptr : state_->Resolve(block, **it);
}

Program::OpIterator::OpIterator(const Program& program, int block)
    : program_(&program), block_(block) {
  SkipEmptyBlocks();
}

Program::OpIterator& Program::OpIterator::operator++() {
  op_ = op_->next();
  if (op_ == nullptr) {
    ++block_;
    SkipEmptyBlocks();
  }
  return *this;
}

void Program::OpIterator::SkipEmptyBlocks() {
  for (; block_ < program_->block_count(); ++block_) {
    op_ = program_->block(block_).first_op();
    if (op_ != nullptr) return;
  }
}

}  // namespace fixpoint
