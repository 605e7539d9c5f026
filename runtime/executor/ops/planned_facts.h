// What is known of a run where an op is planned: the types of all values that are planned, what is
// fetched, and what holds codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_

#include <optional>

#include "ops/codes/run_facts.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

class PlannedFacts final : public RunFacts {
 public:
  // REQUIRES: the planner outlives the object.
  explicit PlannedFacts(const OpPlanner& op) : op_(op) {}

  Era era() const override { return op_.era(); }
  // Nothing of what is computed after the op.
  std::optional<KnownType> TypeOf(const Value& value) const override;
  bool IsKept(const Value& value) const override { return op_.demand().IsKept(value); }
  const Op* OnlyReader(const Value& value) const override { return op_.demand().OnlyReader(value); }
  bool HasBegunTest(const Op& op) const override;
  // Without a stage, because ranges are known when the plan runs.
  HeldForm HeldFormOf(const Argument& input) const override;
  std::optional<IntegerReason> WhyNotRead(const Argument& /*operand*/) const override {
    return std::nullopt;
  }
  std::optional<IntegerReason> WhyNotFolded(const Op& op, const Argument& output) const override;

 private:
  const OpPlanner& op_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_
