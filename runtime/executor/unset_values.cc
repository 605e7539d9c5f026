#include "runtime/executor/unset_values.h"

#include <utility>

#include "ops/unset_inputs.h"
#include "proto/program/program.h"
#include "runtime/executor/block_crossing.h"

namespace fixpoint::executor {

ReadValues ValuesReadBy(const Op& op, Era era, const Argument* unread) {
  ReadValues values;
  for (const Argument* input : op.inputs()) {
    if (input->variable() == nullptr || input == unread) continue;
    (MayBeUnset(*input, era) ? values.optional : values.wanted).push_back(input->value());
  }
  for (const Block* block : op.sub_blocks()) {
    const BlockCrossing crossing = CrossingOf(op, *block);
    values.wanted.insert(values.wanted.end(), crossing.reads.begin(), crossing.reads.end());
    for (const WrittenAround& written : crossing.written) {
      // A run keeps a persistable variable, with whatever it holds.
      const bool is_kept = written.before->variable().persistable();
      (is_kept ? values.wanted : values.optional).push_back(written.before);
    }
  }
  return values;
}

void AddSetCheck(const Value& value, absl::Status error, PlanBuilder* builder) {
  const IsSet* const is_set = builder->Attached<IsSet>(value);
  if (is_set == nullptr) return;
  Step step;
  step.name = "check that it is set";
  step.reads = {is_set->flag};
  step.run = [flag = is_set->flag, error = std::move(error)](const StepContext& run) {
    return run.Of<bool>(flag)[0] ? absl::OkStatus() : error;
  };
  step.in_each_run = true;
  builder->AddStep(std::move(step));
}

}  // namespace fixpoint::executor
