// What the ops of a quantizer make of one tensor: an oracle for its Observe that is not made of its
// arithmetic.

#ifndef FIXPOINT_TESTS_OPS_RANGE_OF_TENSOR_H_
#define FIXPOINT_TESTS_OPS_RANGE_OF_TENSOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer.h"

namespace fixpoint {

// The range on which a symmetric quantizer settles that sees `values` at every step: the number
// that its SummaryOps compute or, without any, the largest absolute value. A quantizer that clips
// in an op of Fixpoint's own has its formula here, by that op.
// Error (kUnimplemented): an op that is not computed here yet.
absl::StatusOr<float> RangeOfTensor(const Quantizer& quantizer, const QuantSpec& spec,
                                    const std::vector<float>& values);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_RANGE_OF_TENSOR_H_
