// Finds the input of a sum that is a residual's shortcut: it is added to the result of a product of
// codes before that is stored, so that only codes have to be kept.

#ifndef FIXPOINT_TRANSPILER_PLAN_SHORTCUTS_H_
#define FIXPOINT_TRANSPILER_PLAN_SHORTCUTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "ops/equal_shapes.h"
#include "ops/era.h"
#include "ops/op_types.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/eligibility.h"
#include "transpiler/plan/forward_facts.h"

namespace fixpoint {

class Shortcuts {
 public:
  // REQUIRES: both outlive the object, and the program is not edited meanwhile.
  Shortcuts(Era era, OpTypes* types, Eligibility* eligibility)
      : facts_(era, types), equal_shapes_(era), eligibility_(*eligibility) {}

  // Declares that an activation and a weight of an op are quantized.
  void AddProduct(const Op& op) { products_.insert(&op); }

  // The shortcut of a sum of two tensors of one shape: the other input is a product's result, which
  // nothing else reads. If both are, the sum is folded into one of them (ProductOfSum,
  // ops/codes/folded_ops.h), and the other is the shortcut. Null, with the reason in `detail`, if
  // there is none. REQUIRES: the sum has X and Y, and the products before it were added.
  const Argument* Find(const Op& sum, std::string& detail);
  // The product whose result reaches an input, and nothing else, through a bias, a batch norm and
  // an activation; null if there is none.
  const Op* ProductOf(const Argument& input);

 private:
  // The input that an op adds to, normalizes or activates, if an epilogue can do that.
  const Argument* InputOf(const Op& op);

  const ForwardFacts facts_;
  EqualShapes equal_shapes_;
  Eligibility& eligibility_;
  absl::flat_hash_set<const Op*> products_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SHORTCUTS_H_
