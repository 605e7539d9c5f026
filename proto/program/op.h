// The handles of a program: its ops, their arguments, and the variables and values that these name.
// They stay valid through the edits of a Rewriter (rewriter.h).

#ifndef FIXPOINT_PROTO_PROGRAM_OP_H_
#define FIXPOINT_PROTO_PROGRAM_OP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

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

// "block 0, op 17 (conv2d)": how a diagnostic names an op. As fast as Op::Index.
std::string Describe(const Op& op);
// The same by the op's position in its file, whatever was inserted and removed since: for errors in
// the middle of a rewrite.
std::string DescribeInFile(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_OP_H_
