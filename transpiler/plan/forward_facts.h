// What the forward ops of a program, which may train, say of the runs of its test program.

#ifndef FIXPOINT_TRANSPILER_PLAN_FORWARD_FACTS_H_
#define FIXPOINT_TRANSPILER_PLAN_FORWARD_FACTS_H_

#include "ops/codes/declared_facts.h"
#include "ops/op_types.h"

namespace fixpoint {

class ForwardFacts : public DeclaredFacts {
 public:
  // REQUIRES: `types` outlives the object.
  ForwardFacts(Era era, OpTypes* types) : DeclaredFacts(era), types_(*types) {}

  // Gradient ops and optimizers, which are gone by then, may read the value too.
  const Op* OnlyReader(const Value& value) const override;
  // Whether the op is there by then.
  bool IsForward(const Op& op) const { return types_.IsForward(op); }

 private:
  OpTypes& types_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_FORWARD_FACTS_H_
