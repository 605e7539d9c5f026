#include "runtime/kernels/integer_convolution.h"

#include <memory>

#include "proto/status_macros.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/depthwise_convolution.h"
#include "runtime/kernels/input_sums.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/one_channel_convolution.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_sums.h"
#include "runtime/kernels/plain_sums.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/tiled_convolution.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kUint8 = memory::data_type::u8;
constexpr auto kInt8 = memory::data_type::s8;
constexpr auto kFloat = memory::data_type::f32;

WeightsOfSums FiltersOf(const ConvolutionShape& shape) {
  return {1, shape.filters, shape.taps(), shape.taps(), 1};
}

std::unique_ptr<IntegerSums> PlanFused(const ConvolutionShape& shape, const SumCoding& coding,
                                       const Epilogue& epilogue, OutputType output) {
  if (IsForOneChannel(shape)) return PlanOneChannelConvolution(shape, coding, epilogue, output);
  if (IsForDepthwise(shape)) return PlanDepthwiseConvolution(shape, coding, epilogue, output);
  if (IsForTiles(shape, epilogue, output)) {
    return PlanTiledConvolution(shape, coding, epilogue, output);
  }
  // oneDNN converts sums to floats before it adds a bias.
  if (coding.has_bias && !FloatsHoldSums(shape.taps(), coding.inputs)) return nullptr;
  const FusedSums fused(coding, epilogue, OutputDesc(shape), kChannelAxis,
                        shape.groups == 1 ? 1 : 3);
  auto desc = ForwardDesc(shape, DataTypeOf(coding.inputs.type), kInt8, DataTypeOf(output),
                          fused.attr(), fused.bias(shape.filters, /*axes=*/1));
  if (!Choose(AddsCodesExactly, &desc)) return nullptr;
  return fused.Make(SumsPrimitiveOf(desc, RowMajor(FilterDims(shape), kInt8), shape.filters));
}

std::unique_ptr<PlainSums> PlanPlain(const ConvolutionShape& shape, const InputCoding& images) {
  const auto& [rows, columns] = shape.window;
  const bool is_padded = rows.pad_before != 0 || rows.pad_after != 0 || columns.pad_before != 0 ||
                         columns.pad_after != 0;
  const bool is_copied = images.type == CodeType::kInt8 || (images.has_zero_point && is_padded);
  const PaddedImages padded = {shape.batch,
                               shape.height,
                               rows.pad_before,
                               rows.pad_after,
                               {columns.pad_before * shape.channels, shape.width * shape.channels,
                                columns.pad_after * shape.channels}};
  ConvolutionShape read = shape;
  if (is_copied) {
    read.height += rows.pad_before + rows.pad_after;
    read.width += columns.pad_before + columns.pad_after;
    for (WindowAxis& axis : read.window) axis.pad_before = axis.pad_after = 0;
  }
  auto desc = ForwardDesc(read, kUint8, kInt8, memory::data_type::s32);
  const bool are_small = FloatsHoldSums(shape.taps(), CodeType::kUint8);
  if (!Choose(are_small ? AddsCodesExactly : StoresSumsExactly, &desc)) return nullptr;
  return SumsByInstructions(
      SumsPrimitiveOf(desc, RowMajor(FilterDims(shape), kInt8), shape.filters), FiltersOf(shape),
      images, padded, is_copied);
}

std::unique_ptr<PlainSums> PlanFloats(const ConvolutionShape& shape, const InputCoding& images) {
  return SumsInFloats(SumsPrimitiveOf(ForwardDesc(shape, kFloat, kFloat, kFloat),
                                      RowMajor(FilterDims(shape), kFloat), shape.filters),
                      FiltersOf(shape), images);
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerConvolution(ConvolutionShape shape,
                                                                    const SumCoding& coding,
                                                                    const Epilogue& epilogue,
                                                                    OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  RETURN_IF_ERROR(CheckSums("a convolution", shape.taps(), coding));
  const WaysToSum ways = {
      [&] { return PlanFused(shape, coding, epilogue, output); },
      [&] { return PlanPlain(shape, coding.inputs); },
      [&] { return PlanFloats(shape, coding.inputs); },
      [&] { return std::make_unique<InputSums>(shape, coding.inputs.type); },
  };
  const SumsShape sums = {/*matrices=*/1, shape.batch * shape.out_height * shape.out_width,
                          shape.filters, shape.groups};
  return PlanSums("a convolution", ways, coding, shape.input_size(), sums, epilogue, output);
}

}  // namespace fixpoint::kernels
