// Products of codes with weights that have a step and a zero point for each column.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_WISE_PRODUCT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_WISE_PRODUCT_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/row_codes.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/row_wise_product.h"

namespace fixpoint::executor {

// Activations with one range, and weights [inner, columns].
struct RowWiseOperands {
  Codes inputs;
  RowCodes weights;
};

// Nothing where one of the two is not held as such codes, the product is not a plain one of two
// matrices, or a sum may not fit in 32 bits.
absl::StatusOr<std::optional<RowWiseOperands>> ReadRowWiseOperands(
    OpPlanner& op, absl::string_view input_slot, absl::string_view weight_slot,
    const kernels::ProductShape& shape);

// Adds the step that computes exact sums, each times the scale of its column, (input range /
// largest code) * step, and then the epilogue. A bias is added to sums in int32 (ops/bias_codes.h),
// or where that does not hold it to numbers.
void AddRowWiseProduct(OpPlanner& op, const kernels::ProductShape& shape,
                       const RowWiseOperands& operands,
                       std::shared_ptr<kernels::RowWiseProduct> product, std::optional<Buffer> bias,
                       const PlannedEpilogue& epilogue);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_WISE_PRODUCT_H_
