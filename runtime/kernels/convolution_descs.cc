#include "runtime/kernels/convolution_descs.h"

#include <glog/logging.h>

#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_implementations.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// Strides, dilations and paddings.
struct WindowDims {
  explicit WindowDims(const Window& window)
      : strides{window[0].stride, window[1].stride},
        gaps{window[0].dilation - 1, window[1].dilation - 1},
        before{window[0].pad_before, window[1].pad_before},
        after{window[0].pad_after, window[1].pad_after} {}

  memory::dims strides;
  memory::dims gaps;
  memory::dims before;
  memory::dims after;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kFloat = memory::data_type::f32;

// A hint for the gradients, whose next_impl reads it again.
dnnl::convolution_forward::primitive_desc ForwardOf(const ConvolutionShape& shape,
                                                    memory::data_type operands) {
  return ForwardDesc(shape, operands, operands, operands);
}

bool StepsOverImages(const ConvolutionShape& shape) {
  return shape.window[0].stride > 1 || shape.window[1].stride > 1;
}

}  // namespace

Dims FilterDims(const ConvolutionShape& shape) {
  const int64_t channels = shape.channels / shape.groups;
  const int64_t height = shape.window[0].kernel;
  const int64_t width = shape.window[1].kernel;
  if (shape.groups == 1) return {shape.filters, channels, height, width};
  return {shape.groups, shape.filters / shape.groups, channels, height, width};
}

memory::desc ImagesDesc(const ConvolutionShape& shape, memory::data_type type) {
  return ChannelsLast({shape.batch, shape.channels, shape.height, shape.width}, type);
}

memory::desc OutputDesc(const ConvolutionShape& shape, memory::data_type type) {
  return ChannelsLast({shape.batch, shape.filters, shape.out_height, shape.out_width}, type);
}

dnnl::convolution_forward::primitive_desc ForwardDesc(
    const ConvolutionShape& shape, memory::data_type images, memory::data_type filters,
    memory::data_type output, const dnnl::primitive_attr& attr, const memory::desc& bias) {
  const WindowDims window(shape.window);
  return {Engine(),
          dnnl::prop_kind::forward_training,
          kDirect,
          ImagesDesc(shape, images),
          AnyLayout(FilterDims(shape), filters),
          bias,
          OutputDesc(shape, output),
          window.strides,
          window.gaps,
          window.before,
          window.after,
          attr};
}

dnnl::convolution_backward_data::primitive_desc BackwardImagesDesc(const ConvolutionShape& shape,
                                                                   memory::data_type operands) {
  const WindowDims window(shape.window);
  const auto forward = ForwardOf(shape, operands);
  dnnl::convolution_backward_data::primitive_desc desc(
      Engine(), kDirect, ImagesDesc(shape, kFloat), AnyLayout(FilterDims(shape), operands),
      OutputDesc(shape, operands), window.strides, window.gaps, window.before, window.after,
      forward, Attributes());
  Choose(OnednnUse::kGradientOfImages, &desc);  // or what comes last
  return desc;
}

dnnl::convolution_backward_weights::primitive_desc BackwardFiltersDesc(
    const ConvolutionShape& shape, memory::data_type operands) {
  const WindowDims window(shape.window);
  const auto forward = ForwardOf(shape, operands);
  dnnl::convolution_backward_weights::primitive_desc desc(
      Engine(), kDirect, ImagesDesc(shape, operands), AnyLayout(FilterDims(shape), kFloat),
      OutputDesc(shape, operands), window.strides, window.gaps, window.before, window.after,
      forward, Attributes());
  if (StepsOverImages(shape) && shape.channels % 8 != 0) {
    CHECK(Choose(OnednnUse::kGradientOfSteppingFilters, &desc));
  }
  return desc;
}

}  // namespace fixpoint::kernels
