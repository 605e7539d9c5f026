// Counts of what a program holds.

#ifndef FIXPOINT_TOOLS_PROGRAM_STATS_H_
#define FIXPOINT_TOOLS_PROGRAM_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/program/program_fwd.h"
#include "tools/json.h"
#include "transpiler/report/quantization_summary.h"

namespace fixpoint {

// Ops by purpose, according to op_role. An op without a role is a forward op.
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
  // The size of all of them; 0 if the extents are unknown. The largest int64 also stands for more.
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
  // The other persistable tensors: statistics, learning rates, state of optimizers.
  std::vector<TensorTypeCount> state;
  // What feed ops write; without feed ops, what block 0 reads and no op writes.
  std::vector<NamedType> feeds;
  // What fetch ops read.
  std::vector<NamedType> fetches;
};

// Linear in the program.
ProgramStats CollectStats(const Program& program);

// As lines and tables of text.
std::string PrintStats(const ProgramStats& stats);
// The same, as the members of a JSON object that was begun.
void WriteStats(const ProgramStats& stats, JsonWriter* json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROGRAM_STATS_H_
