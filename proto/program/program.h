// A program: an index over its messages that knows which ops read and write each variable.
//
// The messages are the only storage; what is not understood is carried untouched. Everything here
// is for reading: a Rewriter (rewriter.h) is the only editor, and handles (Op, Variable, Argument,
// Value) stay valid through its edits. Not for use by two threads at once, not even for reading:
// values are computed when they are first needed.

#ifndef FIXPOINT_PROTO_PROGRAM_PROGRAM_H_
#define FIXPOINT_PROTO_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/op.h"
#include "proto/wire/program.pb.h"
#include "proto/wire/program_message.h"

namespace fixpoint {

struct ProgramState;

// One block: ops in order, and the variables that it declares.
class Block {
 public:
  // Iterates over the ops in order; insertion and removal around the current one are safe.
  class OpIterator {
   public:
    using value_type = const Op;
    using reference = const Op&;
    using pointer = const Op*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    explicit OpIterator(const Op* op) : op_(op) {}
    const Op& operator*() const { return *op_; }
    const Op* operator->() const { return op_; }
    OpIterator& operator++() {
      op_ = op_->next();
      return *this;
    }
    bool operator==(const OpIterator& other) const { return op_ == other.op_; }
    bool operator!=(const OpIterator& other) const { return op_ != other.op_; }

   private:
    const Op* op_;
  };
  struct OpRange {
    const Op* first;
    OpIterator begin() const { return OpIterator(first); }
    OpIterator end() const { return OpIterator(nullptr); }
  };

  int index() const { return desc_->idx(); }
  const BlockDesc& desc() const { return *desc_; }
  OpRange ops() const { return {first_op()}; }
  const Op* first_op() const;
  const Op* last_op() const;
  int op_count() const { return op_count_; }
  // The variables declared here, in the order of the message.
  std::vector<const Variable*> variables() const;
  // The ops and variables removed since Create or ForgetEdits that had not been inserted since.
  std::vector<const Op*> removed_ops() const;
  std::vector<const Variable*> removed_variables() const;

  const Block* parent() const { return parent_; }    // null for block 0
  const Block* forward() const { return forward_; }  // for a gradient block; else null
  // The op that runs this block, the first if there are several; null for block 0 and for a block
  // that no op runs.
  const Op* owner() const { return owner_; }

 private:
  friend class Op;
  friend class Program;
  friend class Rewriter;
  friend class ValueAnalysis;
  friend struct ProgramState;

  ProgramState* state_ = nullptr;
  BlockDesc* desc_ = nullptr;
  const Block* parent_ = nullptr;
  const Block* forward_ = nullptr;
  const Op* owner_ = nullptr;
  int runners_ = 0;      // how often attributes of ops name this block
  Op* first_ = nullptr;  // removed ones among them
  Op* last_ = nullptr;
  int op_count_ = 0;
  std::vector<Variable*> variables_;  // removed ones among them
  bool stale_ = false;                // the message's order is not this one's
};

// A program. A moved-from program may only be assigned to or destroyed.
class Program {
 public:
  // Iterates over the ops of all blocks, block by block, in each in order; insertion and removal
  // around the current one are safe.
  class OpIterator {
   public:
    using value_type = const Op;
    using reference = const Op&;
    using pointer = const Op*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    // From the first op of the block of that index, or of those after it.
    OpIterator(const Program& program, int block);
    const Op& operator*() const { return *op_; }
    const Op* operator->() const { return op_; }
    OpIterator& operator++();
    bool operator==(const OpIterator& other) const { return op_ == other.op_; }
    bool operator!=(const OpIterator& other) const { return op_ != other.op_; }

   private:
    void SkipEmptyBlocks();

    const Program* program_;
    int block_;
    const Op* op_ = nullptr;  // null at the end
  };
  struct OpRange {
    const Program& program;
    OpIterator begin() const { return OpIterator(program, 0); }
    OpIterator end() const { return OpIterator(program, program.block_count()); }
  };

  // An empty program: one block, no version.
  Program();
  // Indexes a program. Errors (kInvalidArgument): no block; a block whose idx is not its position;
  // a parent, forward or sub-block index that does not exist or does not come in order (which a
  // cycle never does); blocks nested deeper than 256. `name` is for messages.
  // REQUIRES: every required field of the message is there, as in one that was loaded.
  static absl::StatusOr<Program> Create(ProgramMessage message, absl::string_view name = "");
  // The same for a copy. A missing required field is an error too.
  static absl::StatusOr<Program> Create(const ProgramDesc& desc, absl::string_view name = "");
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // The messages, with every edit applied.
  const ProgramDesc& Proto() const;
  // A copy without a record of edits.
  Program Clone() const;

  const std::string& name() const;
  int block_count() const;
  const Block& block(int index) const;
  OpRange ops() const { return {*this}; }
  // The number of distinct op types.
  int type_count() const;
  // The writer's Version.version: 2006002 is 2.6.2; 0 if it is absent or a development build.
  int64_t version() const;

  // The variable that a name means in a block: the block's own; in a gradient block, then the
  // forward block's; then an ancestor's. Null if nothing declares it.
  const Variable* Find(const Block& block, absl::string_view name) const;

  // Whether ops, variables or blocks were inserted, changed or removed since Create or ForgetEdits.
  bool edited() const;
  // Undoes every edit since then: the messages are restored byte for byte. Handles of arguments of
  // changed ops become invalid, and those of blocks that were added.
  void RevertEdits();
  // The number of edits that Rewriters have ever made.
  int64_t edit_count() const;
  // Appends the net edits to a log; its fingerprint and plan are left to the caller.
  void MakeEditLog(EditLog* log) const;
  // Adopts the edits of a log as if they had just been made, so that RevertEdits undoes them. Error
  // (kFailedPrecondition): the log does not fit the program, which then has no recorded edits.
  absl::Status AdoptEditLog(const EditLog& log);
  void ForgetEdits();
  // The log in the message, which is created if there is none.
  EditLog* mutable_edit_log();
  void ClearEditLog();

 private:
  friend class Rewriter;

  explicit Program(std::unique_ptr<ProgramState> state);

  std::unique_ptr<ProgramState> state_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_PROGRAM_H_
