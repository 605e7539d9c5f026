#include "runtime/kernels/integer_product.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/biased_sums_plan.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// Null: there is none with this epilogue.
std::unique_ptr<IntegerSums> PlanInstructions(const ProductShape& shape, const InputCoding& x,
                                              const Epilogue& epilogue, OutputType output) {
  const EpiloguePostOps post_ops(epilogue, OutDesc(shape), kColumnAxis);
  auto desc = ProductDesc(shape, DataTypeOf(x.type), memory::data_type::s8, DataTypeOf(output),
                          AttrOf(x, 1 << 2, post_ops));
  if (!ChooseExact(&desc)) return nullptr;
  return ExactInstructions(
      SumsPrimitiveOf(desc, YDesc(shape, memory::data_type::s8), shape.columns), x, post_ops);
}

WeightsOfSums ColumnsOf(const ProductShape& shape) {
  const int64_t row = shape.transpose_y ? 1 : shape.columns;
  const int64_t column = shape.transpose_y ? shape.inner : 1;
  return {shape.batch, shape.columns, column, shape.inner, row};
}

std::unique_ptr<IntegerSums> PlanFloats(const ProductShape& shape, const InputCoding& x) {
  constexpr auto kFloat = memory::data_type::f32;
  return ExactFloats(SumsPrimitiveOf(ProductDesc(shape, kFloat, kFloat, kFloat),
                                     YDesc(shape, kFloat), shape.columns),
                     x, ColumnsOf(shape));
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(const ProductShape& shape,
                                                                const InputCoding& x,
                                                                const Epilogue& epilogue,
                                                                OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  if (!SumsFit(shape.inner, x)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a product with ", shape.inner,
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  return PlanSums(
      "a product of codes",
      [&](const Epilogue& stages, OutputType type) {
        return PlanInstructions(shape, x, stages, type);
      },
      [&] { return PlanFloats(shape, x); }, shape.out_size(), epilogue, output);
}

absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedProduct(const ProductShape& shape,
                                                              const InputCoding& x,
                                                              const Epilogue& epilogue,
                                                              OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  return PlanBiasedSums(
      "a product",
      [&](const Epilogue& stages, OutputType type) {
        return PlanIntegerProduct(shape, x, stages, type);
      },
      ColumnsOf(shape), x, shape.columns, shape.out_size(), epilogue, output);
}

}  // namespace fixpoint::kernels
