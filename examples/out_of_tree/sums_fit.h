// A check of one's own, for a target that adds few terms.

#ifndef OUT_OF_TREE_SUMS_FIT_H_
#define OUT_OF_TREE_SUMS_FIT_H_

#include <memory>

#include "transpiler/plan/target_check.h"

namespace out_of_tree {

// Products whose sums have more than 1024 terms stay float.
std::unique_ptr<fixpoint::TargetCheck> MakeSumsFit();

}  // namespace out_of_tree

#endif  // OUT_OF_TREE_SUMS_FIT_H_
