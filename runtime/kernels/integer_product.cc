#include "runtime/kernels/integer_product.h"

#include <memory>

#include "proto/status_macros.h"
#include "runtime/kernels/input_sums.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_sums.h"
#include "runtime/kernels/plain_sums.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kUint8 = memory::data_type::u8;
constexpr auto kInt8 = memory::data_type::s8;
constexpr auto kFloat = memory::data_type::f32;

WeightsOfSums ColumnsOf(const ProductShape& shape) {
  const int64_t row = shape.transpose_y ? 1 : shape.columns;
  const int64_t column = shape.transpose_y ? shape.inner : 1;
  return {shape.batch, shape.columns, column, shape.inner, row};
}

std::unique_ptr<IntegerSums> PlanFused(const ProductShape& shape, const SumCoding& coding,
                                       const Epilogue& epilogue, OutputType output) {
  // oneDNN converts sums to floats before it adds a bias.
  if (coding.has_bias && !FloatsHoldSums(shape.inner, coding.inputs)) return nullptr;
  const FusedSums fused(coding, epilogue, OutDesc(shape), kColumnAxis, 1 << kColumnAxis);
  auto desc = ProductDesc(shape, DataTypeOf(coding.inputs.type), kInt8, DataTypeOf(output),
                          fused.attr(), fused.bias(shape.columns, /*axes=*/3));
  if (!Choose(AddsCodesExactly, &desc)) return nullptr;
  return fused.Make(SumsPrimitiveOf(desc, YDesc(shape, kInt8), shape.columns));
}

std::unique_ptr<PlainSums> PlanPlain(const ProductShape& shape, const InputCoding& x) {
  auto desc = ProductDesc(shape, kUint8, kInt8, memory::data_type::s32);
  const bool are_small = FloatsHoldSums(shape.inner, CodeType::kUint8);
  if (!Choose(are_small ? AddsCodesExactly : StoresSumsExactly, &desc)) return nullptr;
  const int64_t line = shape.transpose_x ? shape.rows : shape.inner;
  return SumsByInstructions(SumsPrimitiveOf(desc, YDesc(shape, kInt8), shape.columns),
                            ColumnsOf(shape), x, {1, shape.x_size() / line, 0, 0, {0, line, 0}},
                            /*is_copied=*/x.type == CodeType::kInt8);
}

std::unique_ptr<PlainSums> PlanFloats(const ProductShape& shape, const InputCoding& x) {
  return SumsInFloats(SumsPrimitiveOf(ProductDesc(shape, kFloat, kFloat, kFloat),
                                      YDesc(shape, kFloat), shape.columns),
                      ColumnsOf(shape), x);
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(const ProductShape& shape,
                                                                const SumCoding& coding,
                                                                const Epilogue& epilogue,
                                                                OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  RETURN_IF_ERROR(CheckSums("a product", shape.inner, coding));
  const WaysToSum ways = {
      [&] { return PlanFused(shape, coding, epilogue, output); },
      [&] { return PlanPlain(shape, coding.inputs); },
      [&] { return PlanFloats(shape, coding.inputs); },
      [&] { return std::make_unique<InputSums>(shape, coding.inputs.type); },
  };
  return PlanSums("a product", ways, coding, shape.x_size(),
                  {shape.batch, shape.rows, shape.columns}, epilogue, output);
}

}  // namespace fixpoint::kernels
