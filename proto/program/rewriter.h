// The only way to edit a program. Every edit keeps the index consistent, costs O(1) (amortized, and
// linear in the op's own size), and is recorded so that it can be undone.

#ifndef FIXPOINT_PROTO_PROGRAM_REWRITER_H_
#define FIXPOINT_PROTO_PROGRAM_REWRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/op_builder.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct OpEdits;
struct ProgramState;

class Rewriter {
 public:
  // `pass` names the author of the edits, and is recorded with what is inserted. REQUIRES: the
  // program outlives the rewriter.
  Rewriter(Program* program, absl::string_view pass);

  // Inserts an op. Undeclared names stay undeclared. REQUIRES: the ops and blocks are the
  // program's, and not removed; blocks that the new op runs have a higher index than its own; a
  // message given here or below has every required field.
  const Op& InsertBefore(const Op& place, const OpDesc& op);
  const Op& InsertAfter(const Op& place, const OpDesc& op);
  const Op& Prepend(const Block& block, const OpDesc& op);
  const Op& Append(const Block& block, const OpDesc& op);
  // The same for an op that New began, which needs no copy; the builder must not be used after
  // that.
  const Op& InsertBefore(const Op& place, OpBuilder& op);
  const Op& InsertAfter(const Op& place, OpBuilder& op);
  const Op& Prepend(const Block& block, OpBuilder& op);
  const Op& Append(const Block& block, OpBuilder& op);
  // Begins an op in the program's memory.
  OpBuilder New(absl::string_view type);

  // Whether blocks may be nested one deeper than this one.
  bool CanAddBlock(const Block& parent) const;
  // Adds an empty block as the last one, the gradient block of `forward` if that is not null.
  // REQUIRES: CanAddBlock(parent), and CanAddBlock(*forward).
  const Block& AddBlock(const Block& parent, const Block* forward = nullptr);
  // Removes the last block, whose handle may become that of the next one that is added. REQUIRES:
  // the program has another one; it has no ops and declares no variables; no op runs it.
  void RemoveLastBlock();

  void Remove(const Op& op);

  // Makes reads read another variable, or another value: what they then have, not which name they
  // say. A pass whose program may have gradient ops asks a ReadReplacer instead
  // (transpiler/pipeline/read_replacer.h). Error (kFailedPrecondition), and nothing is changed:
  // where one of the ops stands, that name means another variable, or the variable holds another
  // value. REQUIRES: all are inputs.
  absl::Status RedirectReads(absl::Span<const Argument* const> reads, const Variable& variable);
  absl::Status RedirectReads(absl::Span<const Argument* const> reads, const Value& value);
  // Changes the name of an argument, for what has only names: outputs, lists of names, and records
  // of an earlier edit. The new name is looked up where the op stands.
  void SetArgument(const Argument& argument, absl::string_view name);
  // Adds an argument at the end of a slot, and adds the slot if the op has none of that name.
  void AddInput(const Op& op, absl::string_view slot, absl::string_view name);
  void AddOutput(const Op& op, absl::string_view slot, absl::string_view name);
  // Removes the last argument of a slot. REQUIRES: the slot has one.
  void RemoveLastArgument(const Op& op, bool is_input, absl::string_view slot);
  // Removes a slot with its arguments, if the op has it.
  void RemoveInputs(const Op& op, absl::string_view slot);
  void RemoveOutputs(const Op& op, absl::string_view slot);

  // Sets the attribute of that name, and adds it if the op has none. REQUIRES: it is not of type
  // BLOCK or BLOCKS.
  void SetAttr(const Op& op, OpDesc::Attr attr);
  void RemoveAttr(const Op& op, absl::string_view name);

  // Declares a variable. Error (kFailedPrecondition): the name is in use in the program.
  absl::StatusOr<const Variable*> AddVariable(const Block& block, const VarDesc& desc);
  absl::StatusOr<const Variable*> AddVariable(const Block& block, absl::string_view name,
                                              const VarType& type);
  // The same in a block that has no ops and no variable of that name yet, where the variable may
  // hide one that another block declares.
  const Variable& AddVariableOfNewBlock(const Block& block, absl::string_view name,
                                        const VarType& type);
  // A dense tensor.
  absl::StatusOr<const Variable*> AddTensor(const Block& block, absl::string_view name,
                                            VarType::Type dtype, absl::Span<const int64_t> dims,
                                            bool persistable = false);
  // Replaces a declaration. REQUIRES: the variable is declared, and `desc` has its name.
  void SetVariable(const Variable& variable, VarDesc desc);
  // Removes a declaration. REQUIRES: the variable is declared and no argument names it.
  void Remove(const Variable& variable);

  // Sets the program's map of composites, as it is serialized; "": the program has none.
  void SetComposites(std::string serialized);

  // A name that nothing in the program uses: `base`, or `base_1`, `base_2`, ... The same edits to
  // the same program give the same names.
  std::string FreshName(absl::string_view base);

 private:
  const Op& Insert(const Block& block, Op* after, OpDesc* desc);
  absl::StatusOr<const Variable*> Declare(const Block& block, VarDesc* desc);
  const Variable* DeclareNew(const Block& block, VarDesc* desc);
  OpEdits* EditsOfOriginal(Op& op);
  void KeepWhole(Op& op);
  void AddArgument(const Op& op, bool is_output, absl::string_view slot, absl::string_view name);
  void RemoveSlot(const Op& op, bool is_output, absl::string_view slot);

  ProgramState& state_;
  const std::string* pass_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_REWRITER_H_
