#include "runtime/kernels/product_parts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/kernels/machine.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// What parts are cut to multiples of, and the fewest rows or columns that a part has: it packs the
// operand that is not cut anew.
constexpr int64_t kVector = 16;
constexpr int64_t kLeastExtent = 32;

// `batch` of rows x columns matrices, taken out of larger ones.
memory::desc MatricesDesc(int64_t batch, int64_t rows, int64_t columns, int64_t matrix, int64_t row,
                          int64_t column, memory::data_type type) {
  return {{batch, rows, columns}, type, memory::dims{matrix, row, column}};
}

}  // namespace

bool SplitsSums(const ProductShape& shape, const dnnl::matmul::primitive_desc& desc) {
  // oneDNN 3.2's brgemm splits those of x that it has to transpose, and gemm any.
  return shape.transpose_x || absl::StrContains(desc.impl_info_str(), "gemm:");
}

ProductParts::ProductParts(const ProductShape& shape, memory::data_type operands) : shape_(shape) {
  const ThreadsInUse one(1);
  const auto [batch, rows, inner, columns, transpose_x, transpose_y] = shape;
  const bool cuts_matrices = batch > 1;
  const bool cuts_rows = !cuts_matrices && rows >= columns;
  const int64_t extent = cuts_matrices ? batch : std::max(rows, columns);
  const int64_t unit = cuts_matrices ? 1 : kVector;
  const int64_t most = cuts_matrices ? batch : extent / kLeastExtent;
  const int64_t products = shape.out_size() * inner;
  const int64_t count =
      std::clamp<int64_t>(std::min(most, products / kProductsOfPart), 1, kMostParts);
  const auto place = [=](int64_t i) {
    return i == count ? extent : extent * i / count / unit * unit;
  };
  for (int64_t i = 0; i < count; ++i) {
    const Range part = {place(i), place(i + 1) - place(i)};
    AddPart(cuts_matrices ? part : Range{0, batch}, cuts_rows ? part : Range{0, rows},
            cuts_matrices || cuts_rows ? Range{0, columns} : part, operands);
  }
}

void ProductParts::AddPart(Range matrices, Range rows, Range columns, memory::data_type operands) {
  const ProductShape& s = shape_;
  const int64_t x_row = s.transpose_x ? 1 : s.inner;
  const int64_t y_column = s.transpose_y ? s.inner : 1;
  const Operand x =
      Operand::Elsewhere(MatricesDesc(matrices.size, rows.size, s.inner, s.rows * s.inner, x_row,
                                      s.transpose_x ? s.rows : 1, operands));
  const Operand y =
      Operand::Elsewhere(MatricesDesc(matrices.size, s.inner, columns.size, s.inner * s.columns,
                                      s.transpose_y ? 1 : s.columns, y_column, operands));
  const Operand out =
      Operand::Elsewhere(MatricesDesc(matrices.size, rows.size, columns.size, s.rows * s.columns,
                                      s.columns, 1, memory::data_type::f32));
  const dnnl::matmul::primitive_desc desc(Engine(), x.memory().get_desc(), y.memory().get_desc(),
                                          out.memory().get_desc(), Attributes());
  implementation_ = desc.impl_info_str();
  parts_.push_back(
      {x, y, out, matrices.begin * s.rows * s.inner + rows.begin * x_row,
       matrices.begin * s.inner * s.columns + columns.begin * y_column,
       matrices.begin * s.rows * s.columns + rows.begin * s.columns + columns.begin,
       Execution(desc, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, out}})});
}

}  // namespace fixpoint::kernels
