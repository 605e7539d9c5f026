// The order of ops: a list with labels, so that two ops are compared without counting, and writing
// that order back to the messages.

#include <algorithm>
#include <cstdint>

#include "proto/program/program.h"
#include "proto/program/program_state.h"

namespace fixpoint {
namespace {

// Room for 2^29 ops at each end of a block, and for 32 halvings between any two.
constexpr uint64_t kStepAtEnd = uint64_t{1} << 32;

}  // namespace

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
    // At an end of a block there is room for many more ops, if each does not take half of it.
    const uint64_t half = (high - low) / 2;
    if (before == nullptr && after != nullptr) {
      op.order_ = low + std::min(half, kStepAtEnd);
    } else if (after == nullptr && before != nullptr) {
      op.order_ = high - std::min(half, kStepAtEnd);
    } else {
      op.order_ = low + half;
    }
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
    if (op->removed_) continue;
    op->position_ = ops.size();
    ops.UnsafeArenaAddAllocated(op->desc_);
  }
  auto& vars = *block.desc_->mutable_vars();
  vars.UnsafeArenaExtractSubrange(0, vars.size(), nullptr);
  vars.Reserve(static_cast<int>(block.variables_.size()));
  for (Variable* variable : block.variables_) {
    if (!variable->removed_) vars.UnsafeArenaAddAllocated(variable->desc_);
  }
  block.stale_ = false;
}

}  // namespace fixpoint
