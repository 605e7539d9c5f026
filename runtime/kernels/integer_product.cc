#include "runtime/kernels/integer_product.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

SumsPrimitive PrimitiveOf(const ProductShape& shape, memory::data_type x, memory::data_type y,
                          const dnnl::primitive_attr& attr = {}) {
  const auto desc = ProductDesc(shape, x, y, attr);
  return {dnnl::matmul(desc),  desc.impl_info_str(), desc.src_desc(), YDesc(shape, y),
          desc.weights_desc(), desc.dst_desc(),      shape.columns};
}

std::unique_ptr<IntegerSums> PlanExactly(const ProductShape& shape, CodeType x,
                                         const Epilogue& epilogue) {
  if (HasExactIntegerProducts()) {
    const EpiloguePostOps post_ops(epilogue, OutDesc(shape), kColumnAxis);
    dnnl::primitive_attr attr = post_ops.attr();
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, 1 << 2);
    return ExactInstructions(PrimitiveOf(shape, DataTypeOf(x), memory::data_type::s8, attr),
                             post_ops);
  }
  const int64_t row = shape.transpose_y ? 1 : shape.columns;
  const int64_t column = shape.transpose_y ? shape.inner : 1;
  return ExactFloats(PrimitiveOf(shape, memory::data_type::f32, memory::data_type::f32), x,
                     {shape.batch, shape.columns, column, shape.inner, row}, epilogue);
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(const ProductShape& shape,
                                                                CodeType x,
                                                                const Epilogue& epilogue) {
  RETURN_IF_ERROR(CheckShape(shape));
  if (!SumsFit(shape.inner, x)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a product with ", shape.inner,
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  auto planned = Planned("a product of codes", [&] { return PlanExactly(shape, x, epilogue); });
  // Behind sums of floats the epilogue is a loop of our own.
  if (!HasExactIntegerProducts()) return planned;
  return CheckFused(epilogue, std::move(planned));
}

}  // namespace fixpoint::kernels
