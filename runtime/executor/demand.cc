#include "runtime/executor/demand.h"

#include <algorithm>

#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "runtime/executor/block_crossing.h"

namespace fixpoint::executor {
namespace {

bool ReadsElements(const Argument& input, Era era) {
  const OpSchema* schema = FindOpSchema(input.op().type());
  const SlotSchema* slot = schema != nullptr ? schema->FindInput(input.slot_name(), era) : nullptr;
  return slot == nullptr || !slot->shape_only;
}

}  // namespace

Demand::Demand(const Block& block, Era era, const std::vector<const Value*>& wanted,
               absl::FunctionRef<bool(const Value&)> is_kept_too,
               absl::FunctionRef<const Argument*(const Op&)> unread_input)
    : kept_(wanted.begin(), wanted.end()) {
  for (const Op& op : block.ops()) {
    for (const Value* value : ValuesWritten(op)) {
      const Variable& variable = value->variable();
      const bool is_kept = variable.persistable() && variable.values().back() == value;
      if (is_kept) kept_.insert(value);
    }
  }
  needed_ = kept_;
  for (const Op* op = block.last_op(); op != nullptr; op = op->previous()) {
    const std::vector<const Value*> written = ValuesWritten(*op);
    const bool is_live = std::any_of(written.begin(), written.end(),
                                     [&](const Value* value) { return IsNeeded(*value); });
    if (!is_live) continue;
    live_.insert(op);
    const Argument* const unread = unread_input(*op);
    for (const Value* value : ValuesRead(*op)) {
      if (unread == nullptr || value != unread->value()) needed_.insert(value);
    }
    for (const Argument* input : op->inputs()) {
      if (input->variable() == nullptr || input == unread || !ReadsElements(*input, era)) continue;
      readers_[input->value()].push_back(op);
    }
    for (const Value* value : ValuesReadInBlocks(*op)) readers_[value].push_back(op);
    for (const Value* value : ValuesFoundInOutputs(*op)) {
      needed_.insert(value);
      readers_[value].push_back(op);
    }
  }
  for (auto& [value, readers] : readers_) std::reverse(readers.begin(), readers.end());
  for (const Value* value : needed_) {
    if (is_kept_too(*value)) kept_.insert(value);
  }
}

Demand::Demand(const Block& block, Era era, const std::vector<const Value*>& wanted)
    : Demand(
          block, era, wanted, [](const Value&) { return false; },
          [](const Op&) { return nullptr; }) {}

absl::Span<const Op* const> Demand::Readers(const Value& value) const {
  const auto readers = readers_.find(&value);
  if (readers == readers_.end()) return {};
  return readers->second;
}

const Op* Demand::OnlyReader(const Value& value) const {
  if (kept_.contains(&value)) return nullptr;
  const absl::Span<const Op* const> readers = Readers(value);
  return readers.size() == 1 ? readers.front() : nullptr;
}

}  // namespace fixpoint::executor
