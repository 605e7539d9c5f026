// The gradient ops of one block, and of the blocks that its ops run.

#ifndef FIXPOINT_OPS_BLOCK_BACKWARD_H_
#define FIXPOINT_OPS_BLOCK_BACKWARD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/block_path.h"
#include "proto/program/program_fwd.h"
#include "proto/program/slots.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class BlockBackward {
 public:
  // For a path that has been found and outlives this; `around` is what runs the block, null for
  // block 0.
  BlockBackward(BackwardContext* context, const BlockPath& path,
                const BlockBackward* around = nullptr)
      : context_(*context), path_(path), around_(around) {}

  // Makes the gradient ops, those of blocks that ops run among them. Errors: those of
  // AppendBackward (backward.h).
  absl::Status MakeOps();
  const std::vector<OpDesc>& ops() const { return ops_; }
  // The variable that a gradient belongs to; null if it is none.
  const Variable* OfWhat(const std::string& gradient) const;

  // Error: a variable that the ops write is there already.
  absl::Status CheckNames() const;
  // Appends the ops to a block. Returns the last writer of each gradient in it.
  using Writers = absl::flat_hash_map<std::string, const Op*>;
  absl::StatusOr<Writers> Write(const Block& target);

 private:
  void NoteGradientsOf(const Op& op);
  absl::Status CheckReadsWhatItRepeats(const Op& op, const OpDesc& gradient);
  bool Finds(const Variable& variable, const Value& value) const;
  void DropUnwanted(Slots* outputs) const;
  // Names the gradients that a block really reads and makes in the op that runs it.
  absl::Status CompleteGradientOf(const BlockBackward& block, const Op& op, OpDesc* gradient) const;
  void CompleteGradientOfSteps(const absl::flat_hash_set<std::string>& made,
                               OpDesc* gradient) const;
  std::vector<std::string> GradientsReadFirst() const;
  absl::flat_hash_set<std::string> GradientsMade() const;
  absl::Status RemoveWhatIsNotReached();
  absl::flat_hash_set<std::string> GradientsGiven() const;
  void SumParts();
  void ClearWhatIsTaken();
  absl::Status DeclareOutputs(const Block& target, const OpDesc& op);

  BackwardContext& context_;
  const BlockPath& path_;
  const BlockBackward* const around_;
  // The variable of each gradient, and of each part of one.
  absl::flat_hash_map<std::string, const Variable*> gradients_;
  absl::flat_hash_map<const Variable*, const Value*> undone_;  // what a gradient op brought back
  std::vector<OpDesc> ops_;
  // By the forward block that an op of ops_ names.
  std::map<int, std::unique_ptr<BlockBackward>> blocks_;
  absl::flat_hash_set<std::string> declared_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BLOCK_BACKWARD_H_
