// Which input of a sum is a residual's shortcut: what is added to the result of a product of codes
// before that is stored, so that codes are all of it that has to be kept.

#ifndef FIXPOINT_TRANSPILER_SHORTCUTS_H_
#define FIXPOINT_TRANSPILER_SHORTCUTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "ops/era.h"
#include "proto/program.h"
#include "transpiler/eligibility.h"
#include "transpiler/op_types.h"

namespace fixpoint {

class Shortcuts {
 public:
  // REQUIRES: both outlive the object.
  Shortcuts(Era era, OpTypes* types, Eligibility* eligibility)
      : era_(era), types_(*types), eligibility_(*eligibility) {}

  // Says that an activation and a weight of an op are quantized.
  void AddProduct(const Op& op) { products_.insert(&op); }

  // The shortcut of a sum of two tensors of one shape: the other input is a product's result, which
  // nothing else reads. Where both are, it is the one written first. Null, with the reason in
  // `detail`, where there is none. REQUIRES: the sum has X and Y, and the products before it were
  // added.
  const Argument* Find(const Op& sum, std::string& detail);
  // Whether a product's result reaches an input, and nothing else, through a bias, a batch norm and
  // an activation.
  bool IsResult(const Argument& input);

 private:
  bool IsOnlyReader(const Argument& reader);
  // What an op adds to, normalizes or activates, where an epilogue does that.
  const Argument* InputOf(const Op& op);

  const Era era_;
  OpTypes& types_;
  Eligibility& eligibility_;
  absl::flat_hash_set<const Op*> products_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SHORTCUTS_H_
