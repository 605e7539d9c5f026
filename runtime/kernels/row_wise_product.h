// Products of codes with weights that have a zero point for each column, and a bias in int32: what
// Glow calls a row-wise quantized fully connected layer, whose rows are columns here.

#ifndef FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/row_wise_product_loops.h"

namespace fixpoint::kernels {

// The largest sum of so many products of codes of `type` and of differences of codes, and whether
// 32 bits hold it.
int64_t LargestRowWiseSum(int64_t products, CodeType type);
bool RowWiseSumsFit(int64_t products, CodeType type);

// Error (kInvalidArgument): a zero point is no code, or a bias may not fit in 32 bits beside a sum
// of up to `largest_sum`.
absl::Status CheckColumns(const WeightColumns& columns, int64_t largest_sum);

// out = float(acc) * scale of the column + addend of the column, and the epilogue, with
//   acc = sum(x * y) - zero point of the column * sum(x) + bias of the column,
// which is sum(x * (y - zero point)) + bias: the same integer on every machine. Not for two threads
// at once.
class RowWiseProduct : public PacksWeights<int8_t> {
 public:
  // Errors: kInvalidArgument: those of CheckShape; a sum may not fit in 32 bits; there is more than
  // one matrix, or x is transposed; those of Planned (onednn.h).
  static absl::StatusOr<std::unique_ptr<RowWiseProduct>> Plan(
      const ProductShape& shape, CodeType x, const Epilogue& epilogue = {},
      OutputType output = OutputType::kFloat);

  // Codes of the planned type, as bytes, and packed codes of the weights. REQUIRES: the sizes are
  // what was planned, and CheckColumns is ok.
  virtual void Run(absl::Span<const uint8_t> x, absl::Span<const uint8_t> y,
                   const WeightColumns& columns, EpilogueOperands operands, Output out) = 0;

  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ROW_WISE_PRODUCT_H_
