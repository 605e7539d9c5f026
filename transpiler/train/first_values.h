// First values of a quantizer's states that follow from the range of its value alone, so that a
// profile gives them.

#ifndef FIXPOINT_TRANSPILER_TRAIN_FIRST_VALUES_H_
#define FIXPOINT_TRANSPILER_TRAIN_FIRST_VALUES_H_

#include <string>
#include <vector>

#include "ops/era.h"
#include "ops/quantizer.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// Whether a state of a quantizer holds the range itself.
bool HoldsRange(const Quantizer& quantizer, const QuantizerRecipe& recipe);

// The quantizer's InitialOps for the site, and the states that they write: computed from a tensor
// of two elements, the smallest and the largest value, they give what the value gives. Nothing
// where the ops read more of the value than its smallest and its largest element (reduce_min and
// reduce_max of it, reduce_max of its abs) or find ranges of channels, and where a state holds the
// range itself, which is then known already; a step beside an offset is computed.
struct FirstValues {
  const Site* site = nullptr;
  bool are_of_weight = false;  // computed from the value itself, a parameter
  std::vector<OpDesc> ops;
  std::vector<std::string> states;
};
FirstValues FirstValuesOfRange(const Site& site, const Quantizer& quantizer,
                               const QuantizerRecipe& recipe, Era era);
// The states that InitialOps write, computed from the elements of a weight. REQUIRES: the site is one of a parameter.
FirstValues FirstValuesOfWeight(const Site& site, const Quantizer& quantizer,
                                const QuantizerRecipe& recipe, const QuantizerUse& use);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_FIRST_VALUES_H_
