#include "runtime/kernels/integer_convolution.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/depthwise_convolution.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/one_channel_convolution.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

SumsPrimitive PrimitiveOf(const ConvolutionShape& shape, memory::data_type images,
                          memory::data_type filters, const dnnl::primitive_attr& attr = {}) {
  const auto desc = ForwardDesc(shape, images, filters, attr);
  return {dnnl::convolution_forward(desc),
          desc.impl_info_str(),
          desc.src_desc(),
          RowMajor(FilterDims(shape), filters),
          desc.weights_desc(),
          desc.dst_desc(),
          shape.filters};
}

std::unique_ptr<IntegerSums> PlanExactly(const ConvolutionShape& shape, CodeType images,
                                         const Epilogue& epilogue) {
  if (IsForOneChannel(shape)) return PlanOneChannelConvolution(shape, images, epilogue);
  if (IsForDepthwise(shape)) return PlanDepthwiseConvolution(shape, images, epilogue);
  if (HasExactIntegerProducts()) {
    const EpiloguePostOps post_ops(epilogue, OutputDesc(shape), kChannelAxis);
    dnnl::primitive_attr attr = post_ops.attr();
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, shape.groups == 1 ? 1 : 3);
    return ExactInstructions(PrimitiveOf(shape, DataTypeOf(images), memory::data_type::s8, attr),
                             post_ops);
  }
  return ExactFloats(PrimitiveOf(shape, memory::data_type::f32, memory::data_type::f32), images,
                     {1, shape.filters, shape.taps(), shape.taps(), 1}, epilogue);
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerConvolution(ConvolutionShape shape,
                                                                    CodeType images,
                                                                    const Epilogue& epilogue) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (!SumsFit(shape.taps(), images)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a convolution with ", shape.taps(),
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  auto planned =
      Planned("a convolution of codes", [&] { return PlanExactly(shape, images, epilogue); });
  // Behind sums of floats the epilogue is a loop of our own.
  if (!HasExactIntegerProducts()) return planned;
  return CheckFused(epilogue, std::move(planned));
}

}  // namespace fixpoint::kernels
