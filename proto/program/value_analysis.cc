#include "proto/program/value_analysis.h"

#include <algorithm>
#include <tuple>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_state.h"

namespace fixpoint {
namespace {

// Whether an op runs its blocks at most once (conditional_block and its relatives). Any other op
// with a block counts as a loop (while, recurrent and their gradients; also an unknown op, for
// which that is the safe answer).
bool RunsAtMostOnce(absl::string_view op_type) {
  return op_type == "conditional_block" || op_type == "conditional_block_infer" ||
         op_type == "conditional_block_grad" || op_type == "run_program";
}

}  // namespace

const Value* Argument::value() const {
  if (variable_ == nullptr) return nullptr;
  ValueAnalysis::Ensure(*variable_);
  return value_;
}

absl::Span<const Value* const> Variable::values() const {
  ValueAnalysis::Ensure(const_cast<Variable&>(*this));
  return values_;
}

void ValueAnalysis::Ensure(Variable& variable) {
  const uint32_t epoch = variable.block_->state_->values_epoch;
  if (variable.values_known_at_ == epoch) return;
  ValueAnalysis analysis(variable);
  analysis.Begin();
  if (!analysis.RunInOneBlock()) analysis.Run();
  variable.values_known_at_ = epoch;
}

void ValueAnalysis::Begin() {
  if (variable_.all_values_.empty()) NewValue();
  for (Value* value : variable_.all_values_) {
    value->live_ = false;
    value->readers_.clear();
    value->merged_.clear();
  }
  variable_.values_.clear();
  variable_.all_values_.front()->block_ = variable_.block_;
}

bool ValueAnalysis::RunInOneBlock() {
  absl::InlinedVector<Argument*, 8> arguments;
  for (Argument* a = variable_.first_argument_; a != nullptr; a = a->next_) {
    if (a->op_->block_ != variable_.block_) return false;
    arguments.push_back(a);
  }
  std::sort(arguments.begin(), arguments.end(), [](const Argument* a, const Argument* b) {
    return std::make_tuple(a->op_->order_, a->is_output_, a->slot_, a->index_) <
           std::make_tuple(b->op_->order_, b->is_output_, b->slot_, b->index_);
  });
  Value* current = variable_.all_values_.front();
  for (Argument* argument : arguments) {
    current = argument->is_output_ ? Written(*argument) : Read(*argument, current);
  }
  return true;
}

void ValueAnalysis::Run() {
  for (Value* value : variable_.all_values_) {
    if (value->origin_ == Value::Origin::kLoopHead || value->origin_ == Value::Origin::kExit) {
      merges_[{value->run_block_, value->origin_}] = value;
    }
  }
  CollectEvents();
  Walk(*variable_.block_, variable_.all_values_.front());
}

Value* ValueAnalysis::Read(Argument& argument, Value* current) {
  Live(current);
  current->readers_.push_back(&argument);
  argument.value_ = current;
  return current;
}

void ValueAnalysis::CollectEvents() {
  for (Argument* a = variable_.first_argument_; a != nullptr; a = a->next_) {
    const Block* block = a->op_->block_;
    BlockEvents& events = blocks_[block];
    events.events.push_back({a->op_, a->is_output_ ? Event::kWrite : Event::kRead, a, nullptr});
    events.writes |= a->is_output_;
  }
  std::vector<const Block*> used;
  for (const auto& [block, events] : blocks_) used.push_back(block);
  std::sort(used.begin(), used.end(),
            [](const Block* a, const Block* b) { return a->index() < b->index(); });
  for (const Block* block : used) PlaceRun(block);
  for (auto& [block, events] : blocks_) {
    std::sort(events.events.begin(), events.events.end(), Before);
  }
}

void ValueAnalysis::PlaceRun(const Block* block) {
  const Block* declaring = variable_.block_;
  while (block != declaring) {
    const bool writes = blocks_[block].writes;
    const bool placed = std::exchange(blocks_[block].placed, true);
    const Op* owner = block->owner();
    const bool at_the_end = block->forward() == declaring || owner == nullptr;
    const Block* above = at_the_end ? declaring : &owner->block();
    BlockEvents& events = blocks_[above];
    if (!placed) {
      events.events.push_back({at_the_end ? nullptr : owner, Event::kRunBlock, nullptr, block});
    }
    if (placed && events.writes >= writes) return;
    // Nothing reads what a block that no op runs writes.
    events.writes |= writes && owner != nullptr;
    block = above;
  }
}

bool ValueAnalysis::Before(const Event& a, const Event& b) {
  const auto place = [](const Event& event) {
    const bool at_the_end = event.op == nullptr;
    return std::make_tuple(at_the_end, at_the_end ? 0 : event.op->order_, event.kind,
                           event.argument == nullptr ? event.block->index() : event.argument->slot_,
                           event.argument == nullptr ? 0 : event.argument->index_);
  };
  return place(a) < place(b);
}

Value* ValueAnalysis::Walk(const Block& block, Value* current) {
  const auto it = blocks_.find(&block);
  if (it == blocks_.end()) return current;
  for (const Event& event : it->second.events) {
    switch (event.kind) {
      case Event::kRead:
        Read(*event.argument, current);
        break;
      case Event::kRunBlock:
        current = RunBlock(event, current);
        break;
      case Event::kWrite:
        if (current->origin_ == Value::Origin::kExit && current->op_ == event.op) {
          current->written_by_ = event.argument;
          event.argument->value_ = current;
        } else {
          current = Written(*event.argument);
        }
        break;
    }
  }
  return current;
}

Value* ValueAnalysis::RunBlock(const Event& event, Value* current) {
  const Block& block = *event.block;
  const Op* owner = block.owner();
  if (owner == nullptr || !blocks_[&block].writes) {
    Walk(block, current);
    return current;
  }
  Live(current);
  if (RunsAtMostOnce(owner->type())) {
    Value* after = Walk(block, current);
    Value* exit = Merge(Value::Origin::kExit, event);
    exit->merged_ = {current, after};
    return exit;
  }
  Value* head = Merge(Value::Origin::kLoopHead, event);
  Value* after = Walk(block, head);
  head->merged_ = {current, after};
  Value* exit = Merge(Value::Origin::kExit, event);
  exit->merged_ = {head};
  return exit;
}

Value* ValueAnalysis::Merge(Value::Origin origin, const Event& event) {
  Value*& value = merges_[{event.block, origin}];
  if (value == nullptr) value = NewValue();
  value->origin_ = origin;
  value->run_block_ = event.block;
  value->op_ = event.block->owner();
  value->written_by_ = nullptr;
  value->block_ = origin == Value::Origin::kLoopHead ? event.block : &value->op_->block();
  Live(value);
  return value;
}

Value* ValueAnalysis::Written(Argument& argument) {
  Value* value = argument.value_;
  if (value == nullptr || value->variable_ != &variable_ || value->written_by_ != &argument ||
      value->origin_ != Value::Origin::kWrite) {
    value = NewValue();
  }
  value->origin_ = Value::Origin::kWrite;
  value->op_ = argument.op_;
  value->written_by_ = &argument;
  value->block_ = argument.op_->block_;
  argument.value_ = value;
  Live(value);
  return value;
}

Value* ValueAnalysis::NewValue() {
  Value* value = &variable_.block_->state_->values.emplace_back();
  value->variable_ = &variable_;
  variable_.all_values_.push_back(value);
  return value;
}

void ValueAnalysis::Live(Value* value) {
  if (value->live_) return;
  value->live_ = true;
  variable_.values_.push_back(value);
}

}  // namespace fixpoint
