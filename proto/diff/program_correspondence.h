// Which blocks, ops and variables of two programs belong together.

#ifndef FIXPOINT_PROTO_DIFF_PROGRAM_CORRESPONDENCE_H_
#define FIXPOINT_PROTO_DIFF_PROGRAM_CORRESPONDENCE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/diff/named_variables.h"
#include "proto/diff/program_diff.h"
#include "proto/diff/sequence_alignment.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class ProgramCorrespondence {
 public:
  struct BlockPair {
    const Block* a;
    const Block* b;
    std::vector<const Op*> a_ops;
    std::vector<const Op*> b_ops;
    SequenceAlignment ops;  // positions in a_ops and b_ops
  };

  // REQUIRES: the programs outlive this and do not change.
  ProgramCorrespondence(const Program& a, const Program& b, const DiffOptions& options);

  // Pairs blocks 0, then the blocks that aligned ops run, then the rest, which no op runs, by
  // number.
  const std::vector<BlockPair>& block_pairs() const { return block_pairs_; }
  // The number of the corresponding block of the other program; -1 if there is none, and for -1.
  int BlockInB(int a_block) const;

  // The temporary of the other program that is written in the same places of aligned ops; null if
  // there is none, and always if the names of temporaries count. No temporary corresponds to two.
  const Variable* TemporaryInB(const Variable& a) const;
  const Variable* TemporaryInA(const Variable& b) const;
  // Whether two arguments name corresponding variables.
  bool Alike(const Argument& a, const Argument& b) const;

 private:
  void PairBlocks();
  void PairBlock(const Block& a, const Block& b);
  // Pairs temporaries that are in the same place of aligned ops' outputs.
  void PairTemporaries();
  void PairTemporary(const Variable* a, const Variable* b);

  const Program& a_;
  const Program& b_;
  const DiffOptions& options_;
  NamedVariables named_in_a_;
  NamedVariables named_in_b_;
  std::vector<BlockPair> block_pairs_;
  std::vector<int> block_in_b_;
  std::vector<int> block_in_a_;
  absl::flat_hash_map<const Variable*, const Variable*> temporary_in_b_;
  absl::flat_hash_map<const Variable*, const Variable*> temporary_in_a_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_PROGRAM_CORRESPONDENCE_H_
