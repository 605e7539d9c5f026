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

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/wire/program.pb.h"
#include "proto/wire/program_message.h"

namespace fixpoint {

class Block;
class Op;
class Value;
class Variable;
struct Name;
struct OpEdits;
struct ProgramState;
struct VariableEdits;

// The argument that means "nothing here", as the reference spells it.
inline constexpr char kEmptyArgument[] = "@EMPTY@";

// One argument of one slot of an op: `w` in conv2d(Input=x, Filter=w).
class Argument {
 public:
  const Op& op() const { return *op_; }
  bool is_output() const { return is_output_; }
  // The position of the slot in OpDesc.inputs or OpDesc.outputs, and of the argument in the slot.
  int slot() const { return slot_; }
  int index() const { return index_; }
  absl::string_view slot_name() const;
  absl::string_view name() const;
  // The variable that the name means in the op's block; null for kEmptyArgument.
  const Variable* variable() const { return variable_; }
  // The value that is read or, for an output, written; null for kEmptyArgument.
  const Value* value() const;

 private:
  friend class Program;
  friend class Rewriter;
  friend class ValueAnalysis;
  friend class Variable;
  friend struct ProgramState;

  Op* op_ = nullptr;
  Variable* variable_ = nullptr;
  Argument* previous_ = nullptr;  // among the variable's arguments, in no order
  Argument* next_ = nullptr;
  Value* value_ = nullptr;
  int32_t slot_ = 0;
  int32_t index_ = 0;
  bool is_output_ = false;
  bool edited_ = false;  // the op's edits record its old name, or that it was added
};

// One op of one block.
class Op {
 public:
  const OpDesc& desc() const { return *desc_; }
  const std::string& type() const { return desc_->type(); }
  // The same number for all ops of one type: below Program::type_count().
  int type_id() const { return type_id_; }
  const Block& block() const { return *block_; }

  // All arguments, slot by slot in the order of the message.
  absl::Span<const Argument* const> inputs() const { return inputs_; }
  absl::Span<const Argument* const> outputs() const { return outputs_; }
  // The arguments of one slot; none if the slot is absent or empty.
  absl::Span<const Argument* const> Inputs(absl::string_view slot) const;
  absl::Span<const Argument* const> Outputs(absl::string_view slot) const;
  // The only argument of a slot; null if there is none or more than one.
  const Argument* Input(absl::string_view slot) const;
  const Argument* Output(absl::string_view slot) const;

  // The attribute, or null. Typed reading: attributes.h.
  const OpDesc::Attr* FindAttr(absl::string_view name) const;
  // op_role, a set of bits (OpRole); 0 if absent.
  int role() const { return role_; }
  // Whether an attribute's name begins with kOwnAttrPrefix (attributes.h).
  bool has_own_attrs() const { return has_own_attrs_; }

  // The blocks that this op runs (attributes of type BLOCK and BLOCKS).
  absl::Span<const Block* const> sub_blocks() const { return sub_blocks_; }

  // Neighbours in the block; null at its ends.
  const Op* next() const;
  const Op* previous() const;
  // Whether this op stands before `other`. REQUIRES: both are in one block.
  bool IsBefore(const Op& other) const { return order_ < other.order_; }
  // The position in the block. The first call after an edit of the block, of its ops or of what it
  // declares, counts all ops; later ones take constant time. Call it between edits, or for a
  // message.
  int Index() const;
  // The position in the block as it was when the program was created, or ForgetEdits called: where
  // the op stands in its file. REQUIRES: the op was not inserted.
  int OriginalIndex() const;
  // The edits since Create or ForgetEdits.
  bool inserted() const;
  bool removed() const { return removed_; }
  bool changed() const { return edits_ != nullptr && !inserted() && !removed_; }
  // Whether the pass of that name (Rewriter) made one of those edits.
  bool EditedBy(absl::string_view pass) const;
  // The message as it was before any change. REQUIRES: the op was not inserted.
  OpDesc OriginalDesc() const;
  // The same without the attributes, which are most of a message.
  OpDesc OriginalSlots() const;
  // The names of the attributes that were changed, removed or added.
  std::vector<std::string> ChangedAttrs() const;

 private:
  friend class Block;
  friend class Program;
  friend class Rewriter;
  friend class ValueAnalysis;
  friend class Variable;
  friend struct ProgramState;

  using Arguments = absl::InlinedVector<Argument*, 3>;

  // What a walk through all ops reads comes first, to fit in one cache line.
  Op* next_ = nullptr;
  OpDesc* desc_ = nullptr;
  std::unique_ptr<OpEdits> edits_;
  int32_t role_ = 0;
  int32_t type_id_ = 0;
  bool has_own_attrs_ = false;
  bool removed_ = false;
  int32_t position_ = 0;  // in the block's message, unless that is stale
  uint64_t order_ = 0;
  Block* block_ = nullptr;
  Op* previous_ = nullptr;  // a removed op keeps its place, so that undo finds it
  Arguments inputs_;
  Arguments outputs_;
  std::vector<const Block*> sub_blocks_;
};

// Bits of op_role, with the reference's values.
enum OpRole : int {
  kForward = 0x0,
  kBackward = 0x1,
  kOptimize = 0x2,
  kRpc = 0x4,
  kDist = 0x8,
  kLearningRate = 0x10,
  kLoss = 0x100,
  kUnspecified = 0x1000,
};

// One variable of one block: what a name means there and in the blocks inside it.
class Variable {
 public:
  const std::string& name() const { return *name_text_; }
  // Null if no block declares the name; such a variable belongs to block 0.
  const VarDesc* desc() const { return desc_; }
  const Block& block() const { return *block_; }

  bool persistable() const { return desc_ != nullptr && desc_->persistable(); }
  // The tensor's description, whatever kind the variable is; null if it has none.
  const VarType::TensorDesc* tensor() const;
  // Whether it is a tensor with a description, and not selected rows or an array of tensors.
  bool is_dense_tensor() const;

  // Every argument that names this variable, reads and writes: block by block, in order within
  // each.
  std::vector<const Argument*> arguments() const;
  bool is_used() const { return first_argument_ != nullptr; }
  // The values that it takes, in program order; see Value.
  absl::Span<const Value* const> values() const;
  bool inserted() const;
  bool removed() const { return removed_; }
  bool changed() const { return edits_ != nullptr && !inserted() && !removed_; }
  bool EditedBy(absl::string_view pass) const;

 private:
  friend class Argument;
  friend class Block;
  friend class Program;
  friend class Rewriter;
  friend class ValueAnalysis;
  friend struct ProgramState;

  Name* name_ = nullptr;
  const std::string* name_text_ = nullptr;
  Variable* same_name_ = nullptr;  // the variable of that name in another block
  VarDesc* desc_ = nullptr;
  Block* block_ = nullptr;
  Argument* first_argument_ = nullptr;
  std::unique_ptr<VariableEdits> edits_;
  uint32_t values_known_at_ = 0;  // the epoch
  bool removed_ = false;
  absl::InlinedVector<Value*, 2> all_values_;    // including those that no longer exist
  absl::InlinedVector<const Value*, 2> values_;  // in program order
};

// What a variable holds between two writes. Rewriting works on values: two reads of one name are
// the same only if they read one value.
class Value {
 public:
  enum class Origin {
    kWrite,     // an op wrote it
    kEntry,     // a feed, a persistable's state before the program, or what an op hands to the
                // block it runs
    kLoopHead,  // what an iteration begins with: the value before the loop, or the last iteration's
    kExit,      // what it holds after a loop or conditional
  };

  const Variable& variable() const { return *variable_; }
  Origin origin() const { return origin_; }
  // The op that wrote it, or that runs the block (kLoopHead, kExit); null for kEntry.
  const Op* op() const { return op_; }
  // The output argument that writes it; null unless an op names it in an output slot.
  const Argument* written_by() const { return written_by_; }
  // The block in which it becomes visible: reads in this block and in blocks inside it can see it.
  const Block& block() const { return *block_; }
  // The arguments that read it, in program order. A merge reads too: see merged().
  absl::Span<const Argument* const> readers() const { return readers_; }
  // The values that this one may equal, for kLoopHead and kExit.
  absl::Span<const Value* const> merged() const { return merged_; }

 private:
  friend class ValueAnalysis;

  const Variable* variable_ = nullptr;
  Origin origin_ = Origin::kEntry;
  const Op* op_ = nullptr;
  const Argument* written_by_ = nullptr;
  const Block* block_ = nullptr;
  const Block* run_block_ = nullptr;  // for a merge: the block whose runs it merges
  absl::InlinedVector<const Argument*, 2> readers_;
  absl::InlinedVector<const Value*, 2> merged_;
  bool live_ = false;
};

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

  // Ops and variables inserted, changed or removed since Create or ForgetEdits.
  bool edited() const;
  // Undoes every edit since then: the messages are restored byte for byte, except for blocks that
  // were added, which stay. Handles of arguments of changed ops become invalid.
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

// "block 0, op 17 (conv2d)": how a diagnostic names an op. As fast as Op::Index.
std::string Describe(const Op& op);
// The same by the op's position in its file, whatever was inserted and removed since: for errors in
// the middle of a rewrite.
std::string DescribeInFile(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_PROGRAM_H_
