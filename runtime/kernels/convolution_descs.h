// A ConvolutionShape in oneDNN's types.

#ifndef FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_DESCS_H_
#define FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_DESCS_H_

#include <type_traits>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {

// Grouped filters have an axis for the groups in front.
Dims FilterDims(const ConvolutionShape& shape);

// Of floats or Bfloat16.
template <typename T>
constexpr auto kTypeOf =
    std::is_same_v<T, Bfloat16> ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;

// The axis of channels in descs of images.
constexpr int kChannelAxis = 1;
dnnl::memory::desc ImagesDesc(const ConvolutionShape& shape, dnnl::memory::data_type type);
dnnl::memory::desc OutputDesc(const ConvolutionShape& shape,
                              dnnl::memory::data_type type = dnnl::memory::data_type::f32);

// A `bias` that is a zero desc means none.
dnnl::convolution_forward::primitive_desc ForwardDesc(
    const ConvolutionShape& shape, dnnl::memory::data_type images, dnnl::memory::data_type filters,
    dnnl::memory::data_type output, const dnnl::primitive_attr& attr = Attributes(),
    const dnnl::memory::desc& bias = {});
// Gradients are f32, of operands of a type.
dnnl::convolution_backward_data::primitive_desc BackwardImagesDesc(
    const ConvolutionShape& shape, dnnl::memory::data_type operands);
dnnl::convolution_backward_weights::primitive_desc BackwardFiltersDesc(
    const ConvolutionShape& shape, dnnl::memory::data_type operands);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_DESCS_H_
