#include "proto/diff/program_correspondence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "proto/diff/op_likeness.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

using BlockKeys = std::vector<std::vector<uint64_t>>;

std::vector<const Op*> OpsOf(const Block& block) {
  std::vector<const Op*> ops;
  ops.reserve(block.op_count());
  for (const Op& op : block.ops()) ops.push_back(&op);
  return ops;
}

SequenceAlignment AlignOps(const BlockKeys& a, const BlockKeys& b) {
  std::vector<LevelKeys> levels(a.size());
  for (size_t level = 0; level < levels.size(); ++level) levels[level] = {a[level], b[level]};
  return AlignSequences(levels);
}

// The outputs, by slot name and position in the slot.
std::vector<const Argument*> SortedOutputs(const Op& op) {
  std::vector<const Argument*> outputs(op.outputs().begin(), op.outputs().end());
  std::stable_sort(outputs.begin(), outputs.end(), [](const Argument* a, const Argument* b) {
    return a->slot_name() < b->slot_name();
  });
  return outputs;
}

}  // namespace

ProgramCorrespondence::ProgramCorrespondence(const Program& a, const Program& b,
                                             const DiffOptions& options)
    : a_(a),
      b_(b),
      options_(options),
      named_in_a_(a),
      named_in_b_(b),
      block_in_b_(a.block_count(), -1),
      block_in_a_(b.block_count(), -1) {
  PairBlocks();
  if (options_.ignore_temporary_names) PairTemporaries();
}

int ProgramCorrespondence::BlockInB(int a_block) const {
  return a_block < 0 ? -1 : block_in_b_[a_block];
}

void ProgramCorrespondence::PairBlocks() {
  const std::vector<BlockKeys> a_keys = OpLikenessKeys(a_, named_in_a_, options_);
  const std::vector<BlockKeys> b_keys = OpLikenessKeys(b_, named_in_b_, options_);
  const int common = std::min(a_.block_count(), b_.block_count());
  size_t aligned = 0;
  for (int i = 0; i < common; ++i) {
    if (i == 0 || (a_.block(i).owner() == nullptr && b_.block(i).owner() == nullptr)) {
      PairBlock(a_.block(i), b_.block(i));
    }
    for (; aligned < block_pairs_.size(); ++aligned) {
      BlockPair pair = std::move(block_pairs_[aligned]);
      pair.a_ops = OpsOf(*pair.a);
      pair.b_ops = OpsOf(*pair.b);
      pair.ops = AlignOps(a_keys[pair.a->index()], b_keys[pair.b->index()]);
      for (const AlignedPair& ops : pair.ops.pairs) {
        const auto a_blocks = pair.a_ops[ops.a]->sub_blocks();
        const auto b_blocks = pair.b_ops[ops.b]->sub_blocks();
        for (size_t j = 0; j < std::min(a_blocks.size(), b_blocks.size()); ++j) {
          PairBlock(*a_blocks[j], *b_blocks[j]);
        }
      }
      block_pairs_[aligned] = std::move(pair);
    }
  }
}

void ProgramCorrespondence::PairBlock(const Block& a, const Block& b) {
  if (block_in_b_[a.index()] >= 0 || block_in_a_[b.index()] >= 0) return;
  block_in_b_[a.index()] = b.index();
  block_in_a_[b.index()] = a.index();
  BlockPair& pair = block_pairs_.emplace_back();
  pair.a = &a;
  pair.b = &b;
}

void ProgramCorrespondence::PairTemporaries() {
  // Ops that are more alike are better evidence of which temporaries belong together.
  int levels = 1;
  for (int level = 0; level < levels; ++level) {
    for (const BlockPair& block : block_pairs_) {
      for (const AlignedPair& pair : block.ops.pairs) {
        levels = std::max(levels, pair.level + 1);
        if (pair.level != level) continue;
        const auto a_outputs = SortedOutputs(*block.a_ops[pair.a]);
        const auto b_outputs = SortedOutputs(*block.b_ops[pair.b]);
        const auto place = [](const Argument* output) {
          return std::make_pair(output->slot_name(), output->index());
        };
        auto b = b_outputs.begin();
        for (const Argument* a : a_outputs) {
          while (b != b_outputs.end() && place(*b) < place(a)) ++b;
          if (b != b_outputs.end() && place(*b) == place(a)) {
            PairTemporary(a->variable(), (*b)->variable());
          }
        }
      }
    }
  }
}

void ProgramCorrespondence::PairTemporary(const Variable* a, const Variable* b) {
  if (a == nullptr || b == nullptr) return;
  if (named_in_a_.Contains(*a) || named_in_b_.Contains(*b)) return;
  if (temporary_in_b_.contains(a) || temporary_in_a_.contains(b)) return;
  temporary_in_b_[a] = b;
  temporary_in_a_[b] = a;
}

const Variable* ProgramCorrespondence::TemporaryInB(const Variable& a) const {
  const auto it = temporary_in_b_.find(&a);
  return it == temporary_in_b_.end() ? nullptr : it->second;
}

const Variable* ProgramCorrespondence::TemporaryInA(const Variable& b) const {
  const auto it = temporary_in_a_.find(&b);
  return it == temporary_in_a_.end() ? nullptr : it->second;
}

bool ProgramCorrespondence::Alike(const Argument& a, const Argument& b) const {
  if (options_.ignore_temporary_names && a.variable() != nullptr && b.variable() != nullptr) {
    const bool named = named_in_a_.Contains(*a.variable());
    if (named != named_in_b_.Contains(*b.variable())) return false;
    const Variable* in_b = TemporaryInB(*a.variable());
    if (in_b != nullptr || TemporaryInA(*b.variable()) != nullptr) return in_b == b.variable();
  }
  return a.name() == b.name();
}

}  // namespace fixpoint
