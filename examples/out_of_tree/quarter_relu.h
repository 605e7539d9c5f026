// An op of one's own: quarter_relu(X) -> (Out), X where that is above 0, else a quarter of it.

#ifndef OUT_OF_TREE_QUARTER_RELU_H_
#define OUT_OF_TREE_QUARTER_RELU_H_

#include "runtime/own_ops.h"

namespace out_of_tree {

fixpoint::OwnOps QuarterRelu();

}  // namespace out_of_tree

#endif  // OUT_OF_TREE_QUARTER_RELU_H_
