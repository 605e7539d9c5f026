#include "runtime/executor/demand.h"

#include <algorithm>

namespace fixpoint::executor {

Demand::Demand(const Program& program, const std::vector<const Value*>& fetched, bool keeps_all)
    : kept_(fetched.begin(), fetched.end()) {
  std::vector<const Op*> ops;
  for (const Op& op : program.block(0).ops()) {
    ops.push_back(&op);
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr) continue;
      const bool is_kept = variable->persistable() && variable->values().back() == output->value();
      if (is_kept) kept_.insert(output->value());
    }
  }
  needed_ = kept_;
  std::reverse(ops.begin(), ops.end());
  for (const Op* op : ops) {
    const auto outputs = op->outputs();
    const bool is_live = std::any_of(outputs.begin(), outputs.end(), [&](const Argument* output) {
      return output->variable() != nullptr && IsNeeded(*output->value());
    });
    if (!is_live) continue;
    live_.insert(op);
    for (const Argument* input : op->inputs()) {
      if (input->variable() != nullptr) needed_.insert(input->value());
    }
  }
  if (keeps_all) kept_ = needed_;
}

std::vector<const Op*> Demand::Readers(const Value& value) const {
  std::vector<const Op*> readers;
  for (const Argument* reader : value.readers()) {
    if (IsLive(reader->op())) readers.push_back(&reader->op());
  }
  return readers;
}

const Op* Demand::OnlyReader(const Value& value) const {
  if (kept_.contains(&value)) return nullptr;
  const std::vector<const Op*> readers = Readers(value);
  return readers.size() == 1 ? readers.front() : nullptr;
}

}  // namespace fixpoint::executor
