// The sums of a convolution, and of a product of matrices, in oneDNN's types.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUMS_DESCS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUMS_DESCS_H_

#include <cstdint>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

struct SumsTypes {
  dnnl::memory::data_type inputs;
  dnnl::memory::data_type weights;
  dnnl::memory::data_type out;
};

// Without the batch axis where there is one matrix: oneDNN then finds operands of columns faster.
inline dnnl::memory::desc WithoutBatch(const dnnl::memory::desc& desc, const ProductShape& shape) {
  if (shape.batch != 1) return desc;
  dnnl::memory::dims dims = desc.get_dims();
  dnnl::memory::dims strides = desc.get_strides();
  dims.erase(dims.begin());
  strides.erase(strides.begin());
  return {dims, desc.get_data_type(), strides};
}

// Where the channels of a result and of its scales are.
inline int ChannelAxis(const ConvolutionShape& /*shape*/) { return kChannelAxis; }
inline int ChannelAxis(const ProductShape& shape) { return shape.batch == 1 ? 1 : kColumnAxis; }
inline int ScalesMask(const ConvolutionShape& shape) { return shape.groups == 1 ? 1 : 3; }
inline int ScalesMask(const ProductShape& shape) { return 1 << ChannelAxis(shape); }

inline int64_t Channels(const ConvolutionShape& shape) { return shape.filters; }
inline int64_t Channels(const ProductShape& shape) { return shape.columns; }

inline dnnl::memory::desc ResultDesc(const ConvolutionShape& shape) { return OutputDesc(shape); }
inline dnnl::memory::desc ResultDesc(const ProductShape& shape) {
  return WithoutBatch(OutDesc(shape), shape);
}

// As Pack gets them.
inline dnnl::memory::desc PlainWeightsDesc(const ConvolutionShape& shape,
                                           dnnl::memory::data_type type) {
  return RowMajor(FilterDims(shape), type);
}
inline dnnl::memory::desc PlainWeightsDesc(const ProductShape& shape,
                                           dnnl::memory::data_type type) {
  return WithoutBatch(YDesc(shape, type), shape);
}

// A bias of floats.
inline dnnl::memory::desc BiasDesc(const ConvolutionShape& shape) {
  return RowMajor({shape.filters}, dnnl::memory::data_type::f32);
}
inline dnnl::memory::desc BiasDesc(const ProductShape& shape) {
  return WithoutBatch(RowMajor({1, 1, shape.columns}, dnnl::memory::data_type::f32), shape);
}

// A `bias` that is zero is none.
inline dnnl::convolution_forward::primitive_desc SumsDesc(
    const ConvolutionShape& shape, const SumsTypes& types,
    const dnnl::primitive_attr& attr = Attributes(), const dnnl::memory::desc& bias = {}) {
  return ForwardDesc(shape, types.inputs, types.weights, types.out, attr, bias);
}
inline dnnl::matmul::primitive_desc SumsDesc(const ProductShape& shape, const SumsTypes& types,
                                             const dnnl::primitive_attr& attr = Attributes(),
                                             const dnnl::memory::desc& bias = {}) {
  return {Engine(),
          WithoutBatch(XDesc(shape, types.inputs), shape),
          shape.batch == 1 ? AnyLayout({shape.inner, shape.columns}, types.weights)
                           : ReadYDesc(shape, types.weights),
          bias,
          WithoutBatch(OutDesc(shape, types.out), shape),
          attr};
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUMS_DESCS_H_
