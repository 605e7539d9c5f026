#include "runtime/kernels/convolution_descs.h"

#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {

Dims FilterDims(const ConvolutionShape& shape) {
  const int64_t channels = shape.channels / shape.groups;
  const int64_t height = shape.window[0].kernel;
  const int64_t width = shape.window[1].kernel;
  if (shape.groups == 1) return {shape.filters, channels, height, width};
  return {shape.groups, shape.filters / shape.groups, channels, height, width};
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvolutionShape& shape,
                                                      dnnl::memory::data_type images,
                                                      dnnl::memory::data_type filters,
                                                      const dnnl::primitive_attr& attr) {
  const auto [rows, columns] = shape.window;
  return {Engine(),
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          ChannelsLast({shape.batch, shape.channels, shape.height, shape.width}, images),
          AnyLayout(FilterDims(shape), filters),
          ChannelsLast({shape.batch, shape.filters, shape.out_height, shape.out_width},
                       dnnl::memory::data_type::f32),
          {rows.stride, columns.stride},
          {rows.dilation - 1, columns.dilation - 1},
          {rows.pad_before, columns.pad_before},
          {rows.pad_after, columns.pad_after},
          attr};
}

}  // namespace fixpoint::kernels
