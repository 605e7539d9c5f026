// What a program holds, counted.

#ifndef FIXPOINT_TOOLS_PROGRAM_STATS_H_
#define FIXPOINT_TOOLS_PROGRAM_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/program.h"
#include "tools/json.h"
#include "transpiler/report/quantization_summary.h"

namespace fixpoint {

// Ops by what they are for, as op_role says. An op without a role is a forward op.
struct RoleCounts {
  int forward = 0;
  int backward = 0;
  int optimizer = 0;
  int learning_rate = 0;
  int other = 0;  // communication between machines

  int total() const { return forward + backward + optimizer + learning_rate + other; }
};

struct OpTypeCount {
  std::string type;
  RoleCounts ops;
};

// Tensors of one element type and shape.
struct TensorTypeCount {
  std::string type;  // "f32[64,3,7,7]"
  int64_t tensors = 0;
  // Of all of them; 0 where the extents do not tell. The largest int64 stands for more.
  int64_t bytes = 0;
};

struct NamedType {
  std::string name;
  std::string type;
};

struct ProgramStats {
  int64_t version = 0;
  bool has_edit_log = false;
  QuantizationSummary quantization;
  struct BlockCount {
    int ops = 0;
    int variables = 0;
  };
  std::vector<BlockCount> blocks;
  RoleCounts ops;
  std::vector<OpTypeCount> op_types;  // most frequent first
  // Persistable tensors that a forward op reads and that only optimizer ops write; largest first.
  std::vector<TensorTypeCount> parameters;
  // The other persistable tensors: statistics, learning rates, what optimizers remember.
  std::vector<TensorTypeCount> state;
  // What feed ops write; without feed ops, what is read of block 0's and nobody writes.
  std::vector<NamedType> feeds;
  // What fetch ops read.
  std::vector<NamedType> fetches;
};

// Linear in the program.
ProgramStats CollectStats(const Program& program);

// Lines and tables for people.
std::string PrintStats(const ProgramStats& stats);
// The same, as the members of an object that has been begun.
void WriteStats(const ProgramStats& stats, JsonWriter* json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROGRAM_STATS_H_
