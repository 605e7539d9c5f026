#include "runtime/kernels/product_descs.h"

#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

memory::desc MatrixDesc(int64_t batch, int64_t rows, int64_t columns, bool transposed,
                        memory::data_type type) {
  const int64_t row = transposed ? 1 : columns;
  const int64_t column = transposed ? rows : 1;
  return {{batch, rows, columns}, type, memory::dims{rows * columns, row, column}};
}

}  // namespace

memory::desc XDesc(const ProductShape& shape, memory::data_type type) {
  return MatrixDesc(shape.batch, shape.rows, shape.inner, shape.transpose_x, type);
}

memory::desc YDesc(const ProductShape& shape, memory::data_type type) {
  return MatrixDesc(shape.batch, shape.inner, shape.columns, shape.transpose_y, type);
}

memory::desc ReadYDesc(const ProductShape& shape, memory::data_type type) {
  return shape.packs_y() ? AnyLayout({shape.batch, shape.inner, shape.columns}, type)
                         : YDesc(shape, type);
}

memory::desc OutDesc(const ProductShape& shape, memory::data_type type) {
  return RowMajor({shape.batch, shape.rows, shape.columns}, type);
}

dnnl::matmul::primitive_desc ProductDesc(const ProductShape& shape, memory::data_type x,
                                         memory::data_type y, memory::data_type out,
                                         const dnnl::primitive_attr& attr,
                                         const memory::desc& bias) {
  return {Engine(), XDesc(shape, x), ReadYDesc(shape, y), bias, OutDesc(shape, out), attr};
}

}  // namespace fixpoint::kernels
