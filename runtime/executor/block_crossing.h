// The values that pass between an op and the blocks that it runs: outer values that inner ops read,
// and outer variables that they write.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_

#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint::executor {

// A variable declared outside a block, which an inner op writes.
struct WrittenAround {
  const Value* before;  // what it holds when the op begins
  const Value* head;    // when a run of the block begins: `before`, or for a loop what merges it
  const Value* after;   // when a run ends
  const Value* exit;    // when the op ends
};

// A value of a forward block that a gradient block reads, which belongs to a run of that.
struct ReadOfRun {
  const Value* read;      // as the gradient block reads it
  const Value* kept;      // in the forward block
  bool at_begin = false;  // what the variable holds when the run begins, not when it ends
};

struct BlockCrossing {
  std::vector<const Value*> reads;  // except for what `written` begins with
  std::vector<WrittenAround> written;
  // Of a gradient block, where `reads` and `written` have neither these nor the gradients that pass
  // between the op and its block (ops/block_gradients.h).
  std::vector<ReadOfRun> of_runs;
};

// REQUIRES: the op runs this block. Empty if another op in an earlier place runs it too: values are
// distinguished for one of them, and the executor refuses such a program (CheckOps).
BlockCrossing CrossingOf(const Op& op, const Block& block);

// What a variable that belongs to a run of the op's block holds when a run begins, as the block
// reads it, and when a run ends; null: the block does not read it, or does not write it.
const Value* ValueAtBegin(const Op& op, const Variable& variable);
const Value* ValueAtEnd(const Op& op, const Variable& variable);

// What an op reads and writes in its own block and the outer ones, by itself or in blocks that it
// runs, with one entry for each argument.
std::vector<const Value*> ValuesRead(const Op& op);
std::vector<const Value*> ValuesReadInBlocks(const Op& op);
std::vector<const Value*> ValuesWritten(const Op& op);

// What a variable held before that value; null for its first one.
const Value* ValueBefore(const Value& value);
// What an op finds in its outputs: the state of a quantizer in persistable variables, some of which
// it reads only there, and some it leaves unchanged; the other tensors of an array.
std::vector<const Value*> ValuesFoundInOutputs(const Op& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_
