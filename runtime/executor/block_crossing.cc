#include "runtime/executor/block_crossing.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ops/array_slots.h"
#include "ops/block_gradients.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint::executor {
namespace {

bool IsWithin(const Block& inner, const Block& block) {
  const Block* at = &inner;
  while (at != nullptr && at != &block) at = at->parent();
  return at != nullptr;
}

// Null if no block that the op runs writes the variable.
const Value* FindExit(const Variable& variable, const Op& op) {
  const auto values = variable.values();
  const auto exit = std::find_if(values.begin(), values.end(), [&](const Value* value) {
    return value->origin() == Value::Origin::kExit && value->op() == &op;
  });
  return exit != values.end() ? *exit : nullptr;
}

WrittenAround Written(const Variable& variable, const Op& op) {
  const Value* const exit = FindExit(variable, op);
  CHECK(exit != nullptr) << variable.name() << " has no value after " << Describe(op);
  // A conditional's exit merges the value before and the value at its block's end; a loop's exit is
  // its head, which merges these two.
  const bool is_loop = exit->merged().size() == 1;
  const Value* head = exit->merged()[0];
  const auto ends = is_loop ? head->merged() : exit->merged();
  return {ends[0], head, ends[1], exit};
}

// Which variables of outer blocks belong to a run of a gradient block, and in what sense.
class RunVariables {
 public:
  explicit RunVariables(const Op& op) : forward_(ForwardBlockOf(op)) {
    if (forward_ == nullptr || forward_->owner() == nullptr) return;
    if (auto gradients = BlockGradientsOf(op); gradients.ok()) gradients_ = *std::move(gradients);
    loop_ = forward_->owner();
    for (const Variable* variable : CopiedForEachRun(*loop_)) copied_.insert(variable);
  }

  // Whether ops of the gradient block have the variable to themselves.
  bool IsOwn(const Variable& variable) const {
    return gradients_.Has(variable) || IsOfForward(variable);
  }

  // The value of a run of the forward block that is read there; nothing if it is of no run.
  std::optional<ReadOfRun> OfRun(const Value& value) const {
    const Variable& variable = value.variable();
    if (IsOfForward(variable)) return ReadOfRun{&value, &value};
    if (!copied_.contains(&variable)) return std::nullopt;
    if (FindExit(variable, *loop_) != nullptr) {
      return ReadOfRun{&value, Written(variable, *loop_).head, /*at_begin=*/true};
    }
    for (const Argument* input : loop_->inputs()) {
      if (input->variable() != &variable || input->value() == &value) continue;
      return ReadOfRun{&value, input->value(), /*at_begin=*/true};
    }
    return std::nullopt;
  }

 private:
  bool IsOfForward(const Variable& variable) const {
    return forward_ != nullptr && &variable.block() == forward_ && !variable.persistable();
  }

  const Block* const forward_;
  const Op* loop_ = nullptr;
  BlockGradients gradients_;
  absl::flat_hash_set<const Variable*> copied_;
};

}  // namespace

BlockCrossing CrossingOf(const Op& op, const Block& block) {
  BlockCrossing crossing;
  if (block.owner() != &op) return crossing;
  const RunVariables of_run(op);
  absl::flat_hash_set<const Variable*> variables;
  absl::flat_hash_set<const Value*> seen;
  for (const Op& inner : block.ops()) {
    for (const Value* value : ValuesWritten(inner)) {
      const Variable& variable = value->variable();
      if (IsWithin(variable.block(), block) || of_run.IsOwn(variable)) continue;
      if (!variables.insert(&variable).second) continue;
      crossing.written.push_back(Written(variable, op));
      seen.insert(crossing.written.back().head);
    }
  }
  for (const Op& inner : block.ops()) {
    for (const Value* value : ValuesRead(inner)) {
      if (IsWithin(value->block(), block) || !seen.insert(value).second) continue;
      if (const auto read = of_run.OfRun(*value); read) {
        crossing.of_runs.push_back(*read);
      } else if (!of_run.IsOwn(value->variable())) {
        crossing.reads.push_back(value);
      }
    }
  }
  return crossing;
}

const Value* ValueAtBegin(const Op& op, const Variable& variable) {
  const Block& block = *op.sub_blocks()[0];
  for (const Op& inner : block.ops()) {
    for (const Value* value : ValuesRead(inner)) {
      if (&value->variable() != &variable) continue;
      const bool is_head = value->origin() == Value::Origin::kLoopHead && value->op() == &op;
      const bool begins =
          is_head || value->origin() == Value::Origin::kEntry || !IsWithin(value->block(), block);
      if (begins) return value;
    }
  }
  return nullptr;
}

const Value* ValueAtEnd(const Op& op, const Variable& variable) {
  if (!IsWithin(variable.block(), *op.sub_blocks()[0])) {
    return FindExit(variable, op) != nullptr ? Written(variable, op).after : nullptr;
  }
  const Value* const last = variable.values().empty() ? nullptr : variable.values().back();
  return last != nullptr && last->origin() != Value::Origin::kEntry ? last : nullptr;
}

std::vector<const Value*> ValuesRead(const Op& op) {
  std::vector<const Value*> values;
  for (const Argument* input : op.inputs()) {
    if (input->variable() != nullptr) values.push_back(input->value());
  }
  const std::vector<const Value*> in_blocks = ValuesReadInBlocks(op);
  values.insert(values.end(), in_blocks.begin(), in_blocks.end());
  return values;
}

std::vector<const Value*> ValuesReadInBlocks(const Op& op) {
  std::vector<const Value*> values;
  for (const Block* block : op.sub_blocks()) {
    const BlockCrossing crossing = CrossingOf(op, *block);
    values.insert(values.end(), crossing.reads.begin(), crossing.reads.end());
    for (const WrittenAround& written : crossing.written) values.push_back(written.before);
  }
  return values;
}

std::vector<const Value*> ValuesWritten(const Op& op) {
  std::vector<const Value*> values;
  for (const Argument* output : op.outputs()) {
    if (output->variable() != nullptr) values.push_back(output->value());
  }
  for (const Block* block : op.sub_blocks()) {
    for (const WrittenAround& written : CrossingOf(op, *block).written) {
      values.push_back(written.exit);
    }
  }
  return values;
}

const Value* ValueBefore(const Value& value) {
  const absl::Span<const Value* const> values = value.variable().values();
  const auto place = std::find(values.begin(), values.end(), &value);
  return place != values.begin() ? *(place - 1) : nullptr;
}

std::vector<const Value*> ValuesFoundInOutputs(const Op& op) {
  std::vector<const Value*> values;
  const bool has_state = QuantOpOf(op) != QuantOp::kNone;
  for (const Argument* output : op.outputs()) {
    if (output->variable() == nullptr) continue;
    const bool is_found =
        KeepsOtherTensors(*output) || (has_state && output->variable()->persistable());
    if (!is_found) continue;
    if (const Value* before = ValueBefore(*output->value()); before != nullptr) {
      values.push_back(before);
    }
  }
  return values;
}

}  // namespace fixpoint::executor
