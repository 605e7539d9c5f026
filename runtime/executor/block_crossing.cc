#include "runtime/executor/block_crossing.h"

#include <glog/logging.h>

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "ops/array_slots.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint::executor {
namespace {

bool IsWithin(const Block& inner, const Block& block) {
  const Block* at = &inner;
  while (at != nullptr && at != &block) at = at->parent();
  return at != nullptr;
}

WrittenAround Written(const Variable& variable, const Op& op) {
  const auto values = variable.values();
  const auto exit = std::find_if(values.begin(), values.end(), [&](const Value* value) {
    return value->origin() == Value::Origin::kExit && value->op() == &op;
  });
  CHECK(exit != values.end()) << variable.name() << " has no value after " << Describe(op);
  // A conditional's exit merges the value before and the value at its block's end; a loop's exit is
  // its head, which merges these two.
  const bool is_loop = (*exit)->merged().size() == 1;
  const Value* head = (*exit)->merged()[0];
  const auto ends = is_loop ? head->merged() : (*exit)->merged();
  return {ends[0], head, ends[1], *exit};
}

}  // namespace

BlockCrossing CrossingOf(const Op& op, const Block& block) {
  BlockCrossing crossing;
  if (block.owner() != &op) return crossing;
  absl::flat_hash_set<const Variable*> variables;
  absl::flat_hash_set<const Value*> seen;
  for (const Op& inner : block.ops()) {
    for (const Value* value : ValuesWritten(inner)) {
      const Variable& variable = value->variable();
      if (IsWithin(variable.block(), block) || !variables.insert(&variable).second) continue;
      crossing.written.push_back(Written(variable, op));
      seen.insert(crossing.written.back().head);
    }
  }
  for (const Op& inner : block.ops()) {
    for (const Value* value : ValuesRead(inner)) {
      if (IsWithin(value->block(), block) || !seen.insert(value).second) continue;
      crossing.reads.push_back(value);
    }
  }
  return crossing;
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
