// Finds the values of one variable: which value each of its reads reads and each of its writes
// creates.
//
// This is done for one variable at a time, on demand, so that indexing a program costs nothing for
// the variables that are never queried, and an edit invalidates only the variables that it touches.

#ifndef FIXPOINT_PROTO_PROGRAM_VALUE_ANALYSIS_H_
#define FIXPOINT_PROTO_PROGRAM_VALUE_ANALYSIS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/program/program.h"

namespace fixpoint {

// The rules, for a variable that block D declares:
//   * Before anything is written there is the entry value.
//   * An op reads its inputs, then runs its blocks, then writes its outputs.
//   * If a block that an op runs writes the variable, what it holds after the op is an exit value.
//     For a loop it merges the loop head's; the loop head's merges the value before the loop and
//     the one that the block ends with. For a conditional it merges the value before and the one
//     that the block ends with.
//   * A gradient block of D runs after D, and begins with what D ends with.
class ValueAnalysis {
 public:
  // Computes the variable's values, unless they are known. Handles of values that still exist
  // stay valid.
  static void Ensure(Variable& variable);

 private:
  explicit ValueAnalysis(Variable& variable) : variable_(variable) {}

  // An event of the variable in one block, in the order of `Before`.
  struct Event {
    enum Kind { kRead, kRunBlock, kWrite };
    const Op* op;  // null: a block that no op runs, or a gradient block at the end of its forward's
    Kind kind;
    Argument* argument;  // kRead, kWrite
    const Block* block;  // kRunBlock
  };
  struct BlockEvents {
    std::vector<Event> events;
    bool writes = false;  // here or in a block that runs from here
    bool placed = false;  // is already an event of the block above
  };

  void Run();
  // The same for a variable that only its own block uses, as nearly all are; false for any other.
  bool RunInOneBlock();
  Value* Read(Argument& argument, Value* current);
  // Forgets all readers; the first value is then the entry value.
  void Begin();
  void CollectEvents();
  // Adds the run of `block` to the events of the blocks above it, up to the declaring one.
  void PlaceRun(const Block* block);
  Value* Walk(const Block& block, Value* current);
  Value* RunBlock(const Event& event, Value* current);
  // The value of that origin if there was one, else a new one; in either case without readers.
  Value* Merge(Value::Origin origin, const Event& event);
  Value* Written(Argument& argument);
  Value* NewValue();
  void Live(Value* value);
  static bool Before(const Event& a, const Event& b);

  Variable& variable_;
  absl::flat_hash_map<const Block*, BlockEvents> blocks_;
  absl::flat_hash_map<std::pair<const Block*, Value::Origin>, Value*> merges_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_VALUE_ANALYSIS_H_
