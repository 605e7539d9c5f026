// The ops that read quantized values instead of others, with the marks from which that is undone.

#ifndef FIXPOINT_TRANSPILER_TRAIN_REWIRED_READERS_H_
#define FIXPOINT_TRANSPILER_TRAIN_REWIRED_READERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

class RewiredReaders {
 public:
  // REQUIRES: it outlives the object.
  explicit RewiredReaders(Rewriter* rewriter) : rewriter_(*rewriter) {}

  // Makes the site's readers, and the gradient ops that repeat them, read a variable.
  absl::Status Redirect(const Site& site, const Variable& to);
  // Makes an op round its hidden state to codes of so many bits (ops/state_codes.h).
  void SetStateBits(const Op& op, int bits);
  // Marks all ops that were changed, also as the reference does, if asked for.
  void Mark(bool with_reference_marks);

 private:
  // What was done to an op, in the order of the edits.
  struct Change {
    std::vector<std::string> marks;
    bool has_weight = false;
    int activation_bits = 0;
  };

  Change& ChangeOf(const Op& op);
  // Notes that an argument is about to be redirected.
  void NoteRewired(const Argument& argument, const Site& site);
  // Adds a name that a block reads to the lists of the ops that run the block.
  void Capture(const Argument& reader, const Block& declaring, const std::string& name);
  // Sets an attribute that an undo removes again.
  void SetAttrMarked(const Op& op, OpDesc::Attr attr, Change& change);

  Rewriter& rewriter_;
  std::vector<const Op*> changed_;
  absl::flat_hash_map<const Op*, Change> changes_;
  absl::flat_hash_set<std::pair<const Op*, std::string>> captured_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_REWIRED_READERS_H_
