#include "runtime/kernels/integer_convolution.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/biased_sums_plan.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/depthwise_convolution.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/one_channel_convolution.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/tiled_convolution.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// Null: there is none with this epilogue.
std::unique_ptr<IntegerSums> PlanInstructions(const ConvolutionShape& shape,
                                              const InputCoding& images, const Epilogue& epilogue,
                                              OutputType output) {
  if (IsForOneChannel(shape)) return PlanOneChannelConvolution(shape, images, epilogue, output);
  if (IsForDepthwise(shape)) return PlanDepthwiseConvolution(shape, images, epilogue, output);
  if (IsForTiles(shape, epilogue, output)) {
    return PlanTiledConvolution(shape, images, epilogue, output);
  }
  const EpiloguePostOps post_ops(epilogue, OutputDesc(shape), kChannelAxis);
  auto desc = ForwardDesc(shape, DataTypeOf(images.type), memory::data_type::s8, DataTypeOf(output),
                          AttrOf(images, shape.groups == 1 ? 1 : 3, post_ops));
  if (!ChooseExact(&desc)) return nullptr;
  const memory::desc filters = RowMajor(FilterDims(shape), memory::data_type::s8);
  return ExactInstructions(SumsPrimitiveOf(desc, filters, shape.filters), images, post_ops);
}

WeightsOfSums FiltersOf(const ConvolutionShape& shape) {
  return {1, shape.filters, shape.taps(), shape.taps(), 1};
}

std::unique_ptr<IntegerSums> PlanFloats(const ConvolutionShape& shape, const InputCoding& images) {
  constexpr auto kFloat = memory::data_type::f32;
  return ExactFloats(SumsPrimitiveOf(ForwardDesc(shape, kFloat, kFloat, kFloat),
                                     RowMajor(FilterDims(shape), kFloat), shape.filters),
                     images, FiltersOf(shape));
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerConvolution(ConvolutionShape shape,
                                                                    const InputCoding& images,
                                                                    const Epilogue& epilogue,
                                                                    OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (!SumsFit(shape.taps(), images)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a convolution with ", shape.taps(),
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  return PlanSums(
      "a convolution of codes",
      [&](const Epilogue& stages, OutputType type) {
        return PlanInstructions(shape, images, stages, type);
      },
      [&] { return PlanFloats(shape, images); }, shape.output_size(), epilogue, output);
}

absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedConvolution(ConvolutionShape shape,
                                                                  const InputCoding& images,
                                                                  const Epilogue& epilogue,
                                                                  OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  return PlanBiasedSums(
      "a convolution",
      [&](const Epilogue& stages, OutputType type) {
        return PlanIntegerConvolution(shape, images, stages, type);
      },
      FiltersOf(shape), images, shape.filters, shape.output_size(), epilogue, output);
}

}  // namespace fixpoint::kernels
