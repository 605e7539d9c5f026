// What is known of a run where an op is planned: the types of all values that are planned, what is
// fetched, and what holds codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_

#include <optional>

#include "ops/codes/coded_product.h"
#include "ops/codes/run_facts.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Sums of products of codes, to which the steps of a product can add a bias.
struct SumsOfCodes {
  const Codes& inputs;
  const Codes& weights;
  const CodedProduct& product;
};

class PlannedFacts final : public RunFacts {
 public:
  // `sums` are what the op computes, if it computes such. REQUIRES: both outlive the object.
  explicit PlannedFacts(const OpPlanner& op, const SumsOfCodes* sums = nullptr)
      : op_(op), sums_(sums) {}

  Era era() const override { return op_.era(); }
  // Nothing of what is computed after the op: so a sum of two results is folded into the later
  // product (ProductOfSum).
  std::optional<KnownType> TypeOf(const Value& value) const override;
  const Op* OnlyReader(const Value& value) const override { return op_.demand().OnlyReader(value); }
  bool HasBegunTest(const Op& op) const override { return op_.HasBegun(op); }
  // Without a stage, because ranges are known when the plan runs.
  HeldForm HeldFormOf(const Argument& input) const override;
  BiasForm BiasFormOf(const Argument& addend) const override;
  std::optional<IntegerReason> WhyNotRead(const Argument& /*operand*/) const override {
    return std::nullopt;
  }
  std::optional<IntegerReason> WhyNotFolded(const Op& op, const Argument& output) const override;

 private:
  const OpPlanner& op_;
  const SumsOfCodes* const sums_;
};

// The type of the codes of a byte that are the elements of an operand of a product: a quantize op
// made them, or the program stores a weight as integers. Nothing of other elements.
std::optional<kernels::CodeType> NumbersOfByte(const OpPlanner& op, absl::string_view slot);

// The codes that an input of the op is held as, or why it is not.
OperandOrReason OperandOf(const OpPlanner& op, const Argument& operand);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_FACTS_H_
