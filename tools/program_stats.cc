#include "tools/program_stats.h"

#include <limits>
#include <map>
#include <utility>

#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

void CountRole(int role, RoleCounts* counts) {
  if ((role & (kRpc | kDist)) != 0) {
    ++counts->other;
  } else if ((role & kOptimize) != 0) {
    ++counts->optimizer;
  } else if ((role & kLearningRate) != 0) {
    ++counts->learning_rate;
  } else if ((role & kBackward) != 0) {
    ++counts->backward;
  } else {
    ++counts->forward;
  }
}

bool IsForward(const Op& op) {
  RoleCounts counts;
  CountRole(op.role(), &counts);
  return counts.forward == 1;
}

bool IsParameter(const Variable& variable) {
  bool is_read = false;
  for (const Argument* argument : variable.arguments()) {
    if (argument->is_output() && (argument->op().role() & kOptimize) == 0) return false;
    is_read = is_read || (!argument->is_output() && IsForward(argument->op()));
  }
  return is_read;
}

NamedType NameAndType(const Variable& variable) {
  return {variable.name(), variable.tensor() == nullptr ? "" : TensorTypeName(*variable.tensor())};
}

class TensorCounter {
 public:
  void Add(const VarType::TensorDesc& tensor) {
    TensorTypeCount& count = by_type_[TensorTypeName(tensor)];
    ++count.tensors;
    const auto bytes = TensorBytes(tensor.data_type(), tensor.dims());
    if (!bytes.ok()) return;
    const int64_t most = std::numeric_limits<int64_t>::max();
    count.bytes = *bytes > most - count.bytes ? most : count.bytes + *bytes;
  }

  std::vector<TensorTypeCount> Take() {
    std::vector<TensorTypeCount> counts;
    for (auto& [type, count] : by_type_) {
      count.type = type;
      counts.push_back(std::move(count));
    }
    std::stable_sort(
        counts.begin(), counts.end(),
        [](const TensorTypeCount& a, const TensorTypeCount& b) { return a.bytes > b.bytes; });
    return counts;
  }

 private:
  std::map<std::string, TensorTypeCount> by_type_;
};

void CountOps(const Program& program, ProgramStats* stats) {
  std::map<std::string, RoleCounts> by_type;
  for (int i = 0; i < program.block_count(); ++i) {
    const Block& block = program.block(i);
    stats->blocks.push_back({block.op_count(), static_cast<int>(block.variables().size())});
    for (const Op& op : block.ops()) {
      CountRole(op.role(), &stats->ops);
      CountRole(op.role(), &by_type[op.type()]);
    }
  }
  for (const auto& [type, counts] : by_type) stats->op_types.push_back({type, counts});
  std::stable_sort(
      stats->op_types.begin(), stats->op_types.end(),
      [](const OpTypeCount& a, const OpTypeCount& b) { return a.ops.total() > b.ops.total(); });
}

void CountTensors(const Program& program, ProgramStats* stats) {
  TensorCounter parameters;
  TensorCounter state;
  for (int i = 0; i < program.block_count(); ++i) {
    for (const Variable* variable : program.block(i).variables()) {
      if (!variable->persistable() || !variable->is_dense_tensor()) continue;
      (IsParameter(*variable) ? parameters : state).Add(*variable->tensor());
    }
  }
  stats->parameters = parameters.Take();
  stats->state = state.Take();
}

}  // namespace

ProgramStats CollectStats(const Program& program) {
  ProgramStats stats;
  stats.version = program.version();
  stats.has_edit_log = program.Proto().has_edit_log();
  stats.quantization = SummarizeQuantization(program);
  CountOps(program, &stats);
  CountTensors(program, &stats);
  for (const Variable* variable : FedVariables(program)) {
    stats.feeds.push_back(NameAndType(*variable));
  }
  for (const Variable* variable : FetchedVariables(program)) {
    stats.fetches.push_back(NameAndType(*variable));
  }
  return stats;
}

}  // namespace fixpoint
