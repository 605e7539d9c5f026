// A quantizer of one's own: what is larger than some root mean squares of the tensor is clipped.

#ifndef OUT_OF_TREE_MOVING_AVERAGE_SIGMA_H_
#define OUT_OF_TREE_MOVING_AVERAGE_SIGMA_H_

#include <memory>

#include "ops/quantizer.h"

namespace out_of_tree {

std::unique_ptr<fixpoint::Quantizer> MakeMovingAverageSigma();

}  // namespace out_of_tree

#endif  // OUT_OF_TREE_MOVING_AVERAGE_SIGMA_H_
