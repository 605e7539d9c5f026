// What passes between an op and the blocks that it runs: values of around that ops within read, and
// variables of around that they write.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_

#include <vector>

#include "proto/program.h"

namespace fixpoint::executor {

// A variable declared around a block, which an op within writes.
struct WrittenAround {
  const Value* before;  // what it holds when the op begins
  const Value* head;    // when a run of the block begins: `before`, or of a loop what merges it
  const Value* after;   // when a run ends
  const Value* exit;    // when the op ends
};

struct BlockCrossing {
  std::vector<const Value*> reads;  // but for what `written` begins with
  std::vector<WrittenAround> written;
};

// REQUIRES: the op runs this block. Empty where another op of an earlier place runs it too: values
// are told apart for one of them, and the executor refuses such a program (CheckOps).
BlockCrossing CrossingOf(const Op& op, const Block& block);

// What an op reads and writes of its own block and those around it, by itself or in blocks that it
// runs. A value is there once for each argument.
std::vector<const Value*> ValuesRead(const Op& op);
std::vector<const Value*> ValuesReadInBlocks(const Op& op);
std::vector<const Value*> ValuesWritten(const Op& op);

// What a variable held before that value; null of its first one.
const Value* ValueBefore(const Value& value);
// What a quantizer finds in the persistable variables of its outputs, its state: some it reads
// there and nowhere else, and some it leaves as it is.
std::vector<const Value*> ValuesFoundInOutputs(const Op& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_BLOCK_CROSSING_H_
