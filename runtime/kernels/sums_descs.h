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

// Where the channels of a result and of its scales are.
inline int ChannelAxis(const ConvolutionShape& /*shape*/) { return kChannelAxis; }
inline int ChannelAxis(const ProductShape& /*shape*/) { return kColumnAxis; }
inline int ScalesMask(const ConvolutionShape& shape) { return shape.groups == 1 ? 1 : 3; }
inline int ScalesMask(const ProductShape& /*shape*/) { return 1 << kColumnAxis; }

inline int64_t Channels(const ConvolutionShape& shape) { return shape.filters; }
inline int64_t Channels(const ProductShape& shape) { return shape.columns; }

inline dnnl::memory::desc ResultDesc(const ConvolutionShape& shape) { return OutputDesc(shape); }
inline dnnl::memory::desc ResultDesc(const ProductShape& shape) { return OutDesc(shape); }

// As Pack gets them.
inline dnnl::memory::desc PlainWeightsDesc(const ConvolutionShape& shape,
                                           dnnl::memory::data_type type) {
  return RowMajor(FilterDims(shape), type);
}
inline dnnl::memory::desc PlainWeightsDesc(const ProductShape& shape,
                                           dnnl::memory::data_type type) {
  return YDesc(shape, type);
}

// A bias of floats.
inline dnnl::memory::desc BiasDesc(const ConvolutionShape& shape) {
  return RowMajor({shape.filters}, dnnl::memory::data_type::f32);
}
inline dnnl::memory::desc BiasDesc(const ProductShape& shape) {
  return RowMajor({1, 1, shape.columns}, dnnl::memory::data_type::f32);
}

// A `bias` that is zero is none.
inline dnnl::convolution_forward::primitive_desc SumsDesc(const ConvolutionShape& shape,
                                                          const SumsTypes& types,
                                                          const dnnl::primitive_attr& attr = {},
                                                          const dnnl::memory::desc& bias = {}) {
  return ForwardDesc(shape, types.inputs, types.weights, types.out, attr, bias);
}
inline dnnl::matmul::primitive_desc SumsDesc(const ProductShape& shape, const SumsTypes& types,
                                             const dnnl::primitive_attr& attr = {},
                                             const dnnl::memory::desc& bias = {}) {
  return ProductDesc(shape, types.inputs, types.weights, types.out, attr, bias);
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUMS_DESCS_H_
