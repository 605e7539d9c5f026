// The path of gradients through one block, and through the blocks that its ops run: the ops that
// the wanted variables depend on and that gradients can pass.

#ifndef FIXPOINT_OPS_BLOCK_PATH_H_
#define FIXPOINT_OPS_BLOCK_PATH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/recurrent_block.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// What the passes of all blocks share.
struct BackwardContext {
  const Program& program;
  const Era era;
  Rewriter& rewriter;
  const Variable* loss = nullptr;
  absl::flat_hash_set<const Variable*> stopped = {};  // by the caller
  absl::flat_hash_map<const Variable*, bool> has_gradient = {};

  std::string Name() const;
  absl::Status Refuse(const Op& op, absl::string_view why) const;
};

// Whether a gradient op restores, in place, what its forward op read, and has no gradients.
bool RunsBackwards(const Op& op, const std::vector<OpDesc>& gradients);

class BlockPath {
 public:
  // An op with its gradient ops and the path through the block that it runs.
  struct PathOp {
    const Op* op;
    std::vector<OpDesc> gradients;
    std::unique_ptr<BlockPath> block;  // null if it runs none
  };

  // For block 0.
  BlockPath(BackwardContext* context, const Block& block) : context_(*context), block_(block) {}
  // For a block that an op of the block of `around` runs.
  BlockPath(BackwardContext* context, const Block& block, const Op& owner, const BlockPath& around);

  // Finds the path from variables, which are read where the block ends. Errors: those of
  // AppendBackward (backward.h).
  absl::Status Find(const std::vector<const Variable*>& wanted);

  const Block& block() const { return block_; }
  // The last op of the block first.
  const std::vector<PathOp>& ops() const { return path_; }
  // Those whose gradients the block begins with, where it ends.
  const absl::flat_hash_set<const Variable*>& wanted() const { return wanted_; }
  // Arrays of a loop whose gradients are added to what they hold when a run begins.
  const absl::flat_hash_set<const Variable*>& accumulated() const { return accumulated_; }
  const RecurrentBlock& steps() const { return steps_; }  // of a recurrent op; else empty
  bool IsLoop() const;
  bool IsOfSteps() const;
  // Whether a block around this one declares a variable.
  bool IsOuter(const Variable& variable) const;
  // Whether a run of a loop begins with a copy of an outer variable.
  bool IsCopied(const Variable& variable) const { return copied_.contains(&variable); }
  // Whether a variable needs gradients.
  bool HasGradient(const Variable& variable) const;
  // What a variable holds where the block ends; null for an outer one that it does not write.
  const Value* ValueAtEnd(const Variable& variable) const;
  // What an outer variable holds after the op that runs the block; null if the block does not
  // write it.
  const Value* ValueAfter(const Variable& variable) const;

 private:
  // What the gradients of later ops pass through: the values that those read, by what made them;
  // for an array of tensors, which also holds what was written before, all that writes it.
  struct Wanted {
    absl::flat_hash_map<const Op*, absl::flat_hash_set<const Variable*>> made_by;
    absl::flat_hash_set<const Variable*> arrays;

    void Add(const Variable& variable, const Value& value);
    std::vector<const Variable*> OutputsOf(const Op& op) const;
  };

  // Whether the block's own variable holds what passes between a recurrent op and it.
  bool IsGivenToStep(const Variable& variable) const;
  // For a block of steps: what outer variables stand for, and which ones its path has read.
  std::vector<const Variable*> StepsOf(const std::vector<const Variable*>& outputs) const;
  void NameReadOutside();
  bool IsInside(const Block& block) const;
  bool ReadsWhatHasGradient(const Op& op) const;
  absl::Status WalkBack();
  absl::StatusOr<std::vector<OpDesc>> GradientsOf(const Op& op) const;
  absl::Status Take(const Op& op, const std::vector<const Variable*>& outputs, Wanted* wanted);
  bool TakeCarried();
  void FindAccumulated(const std::vector<const Variable*>& wanted_after);
  void TakeWhatRunsBackwards();
  absl::Status CheckIsWrittenLast(const Argument& input) const;
  absl::Status CheckIsNotMerged(const Variable& variable) const;
  void StopWhatNobodyReads();

  BackwardContext& context_;
  const Block& block_;
  const Op* const owner_ = nullptr;          // null for block 0
  const BlockPath* const around_ = nullptr;  // likewise
  RecurrentBlock steps_ = {};
  absl::flat_hash_set<const Variable*> copied_;
  absl::flat_hash_set<const Variable*> wanted_;
  absl::flat_hash_set<const Variable*> read_;    // by gradients' ops, of outer variables
  absl::flat_hash_set<const Variable*> unread_;  // outputs of the path
  absl::flat_hash_set<const Variable*> accumulated_;
  std::vector<PathOp> path_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BLOCK_PATH_H_
