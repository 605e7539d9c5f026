// The products of the layers of an rnn: of floats, or of codes of the weights, of Input and of the
// states.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RNN_PRODUCTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RNN_PRODUCTS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/recurrent_shape.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/recurrence.h"

namespace fixpoint::executor {

// How an rnn multiplies weights.
struct RnnProducts {
  int state_bits = 0;
  bool is_lowered = false;
  bool is_of_codes = false;         // of the state and of the input
  std::optional<Codes> input = {};  // of the first layer, where the products are of codes
};

// Errors: a lowered op whose codes or sums do not fit.
absl::StatusOr<RnnProducts> RnnProductsOf(OpPlanner& op, const RnnShape& shape);

// The codes of a matrix of WeightList. REQUIRES: the products are of codes.
absl::StatusOr<WeightCodes> WeightCodesOf(OpPlanner& op, const RnnShape& shape,
                                          const RnnProducts& products, int index,
                                          const InputStep& step);

// The product of a layer's input with the matrix of a direction. `input`: the states of the layer
// before; nothing: Input.
absl::Status AddInputProduct(OpPlanner& op, const RnnShape& shape, const RnnProducts& products,
                             int pair, std::optional<Buffer> input, Buffer sums);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RNN_PRODUCTS_H_
