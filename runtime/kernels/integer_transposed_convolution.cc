#include "runtime/kernels/integer_transposed_convolution.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/biased_sums_plan.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

int64_t KernelSize(const ConvolutionShape& shape) {
  return shape.window[0].kernel * shape.window[1].kernel;
}

// How many products make one element at most.
int64_t Products(const ConvolutionShape& shape) {
  return shape.filters / shape.groups * KernelSize(shape);
}

SumsPrimitive PrimitiveOf(const ConvolutionShape& shape, memory::data_type inputs,
                          memory::data_type filters, memory::data_type output,
                          const dnnl::primitive_attr& attr = {}) {
  const auto desc = TransposedDesc(shape, inputs, filters, output, attr);
  return {desc,
          desc.impl_info_str(),
          desc.src_desc(),
          TransposedFiltersDesc(shape, filters),
          desc.weights_desc(),
          desc.dst_desc(),
          shape.channels};
}

std::unique_ptr<IntegerSums> PlanInstructions(const ConvolutionShape& shape,
                                              const InputCoding& inputs, const Epilogue& epilogue,
                                              OutputType output) {
  const memory::data_type output_type = DataTypeOf(output);
  const EpiloguePostOps post_ops(epilogue, ImagesDesc(shape, output_type), kChannelAxis);
  return ExactInstructions(
      PrimitiveOf(shape, DataTypeOf(inputs.type), memory::data_type::s8, output_type,
                  AttrOf(inputs, shape.groups == 1 ? 1 : 3, post_ops)),
      inputs, post_ops);
}

WeightsOfSums FiltersOf(const ConvolutionShape& shape) {
  const int64_t channels = shape.channels / shape.groups;
  const int64_t kernel = KernelSize(shape);
  return {shape.groups, channels, kernel, shape.filters / shape.groups, channels * kernel, kernel};
}

std::unique_ptr<IntegerSums> PlanFloats(const ConvolutionShape& shape, const InputCoding& inputs) {
  constexpr auto kFloat = memory::data_type::f32;
  return ExactFloats(PrimitiveOf(shape, kFloat, kFloat, kFloat), inputs, FiltersOf(shape));
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerTransposedConvolution(
    ConvolutionShape shape, const InputCoding& inputs, const Epilogue& epilogue,
    OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (!SumsFit(Products(shape), inputs)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a transposed convolution with ", Products(shape),
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  return PlanSums(
      "a transposed convolution of codes",
      [&](const Epilogue& stages, OutputType type) {
        return PlanInstructions(shape, inputs, stages, type);
      },
      [&] { return PlanFloats(shape, inputs); }, shape.input_size(), epilogue, output);
}

absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedTransposedConvolution(
    ConvolutionShape shape, const InputCoding& inputs, const Epilogue& epilogue,
    OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  return PlanBiasedSums(
      "a transposed convolution",
      [&](const Epilogue& stages, OutputType type) {
        return PlanIntegerTransposedConvolution(shape, inputs, stages, type);
      },
      FiltersOf(shape), inputs, shape.channels, shape.input_size(), epilogue, output);
}

}  // namespace fixpoint::kernels
