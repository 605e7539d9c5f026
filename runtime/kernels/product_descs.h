// A ProductShape in oneDNN's types.

#ifndef FIXPOINT_RUNTIME_KERNELS_PRODUCT_DESCS_H_
#define FIXPOINT_RUNTIME_KERNELS_PRODUCT_DESCS_H_

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// The operands as they lie in memory, transposed or not.
dnnl::memory::desc XDesc(const ProductShape& shape, dnnl::memory::data_type type);
dnnl::memory::desc YDesc(const ProductShape& shape, dnnl::memory::data_type type);

// The axis of columns in descs.
constexpr int kColumnAxis = 2;
dnnl::memory::desc OutDesc(const ProductShape& shape,
                           dnnl::memory::data_type type = dnnl::memory::data_type::f32);

// y as the kernel reads it: in the layout that it chooses, or as y lies where it is not packed.
dnnl::memory::desc ReadYDesc(const ProductShape& shape, dnnl::memory::data_type type);

// The product of elements of those types. A `bias` that is a zero desc means none.
dnnl::matmul::primitive_desc ProductDesc(const ProductShape& shape, dnnl::memory::data_type x,
                                         dnnl::memory::data_type y, dnnl::memory::data_type out,
                                         const dnnl::primitive_attr& attr = Attributes(),
                                         const dnnl::memory::desc& bias = {});

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PRODUCT_DESCS_H_
