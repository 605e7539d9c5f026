// The cosine of the angle between rows.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X's rows beside those of Y, or beside its only one.
struct RowPairs {
  const Array* x = nullptr;
  const Array* y = nullptr;
  int64_t rows = 0;
  int64_t width = 0;

  int64_t y_row(int64_t row) const { return y->dims[0] == 1 ? 0 : row; }
  double Product(const Array& a, int64_t a_row, const Array& b, int64_t b_row) const {
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += a[a_row * width + j] * b[b_row * width + j];
    return sum;
  }
};

absl::StatusOr<RowPairs> PairsOf(const OpRun& op) {
  RowPairs pairs;
  pairs.x = &op.Input("X");
  pairs.y = &op.Input("Y");
  const Dims& x = pairs.x->dims;
  const Dims& y = pairs.y->dims;
  const bool fits = x.size() >= 2 && x.size() == y.size() &&
                    std::equal(x.begin() + 1, x.end(), y.begin() + 1) &&
                    (y[0] == 1 || y[0] == x[0]);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and Y ", DimsText(y),
                                                   "; want rows alike, and as many or one of Y"));
  }
  pairs.rows = x[0];
  pairs.width = ViewAround(x, 0).inner;
  return pairs;
}

absl::Status CosSim(OpRun& op) {
  ASSIGN_OR_RETURN(const RowPairs pairs, PairsOf(op));
  const auto& [x, y, rows, width] = pairs;
  Array out(x->dtype, Dims{rows, 1});
  Array x_norm(x->dtype, Dims{rows, 1});
  Array y_norm(x->dtype, Dims{y->dims[0], 1});
  for (int64_t row = 0; row < y->dims[0]; ++row) {
    y_norm[row] = std::sqrt(pairs.Product(*y, row, *y, row));
  }
  for (int64_t row = 0; row < rows; ++row) {
    x_norm[row] = std::sqrt(pairs.Product(*x, row, *x, row));
    out[row] =
        pairs.Product(*x, row, *y, pairs.y_row(row)) / (x_norm[row] * y_norm[pairs.y_row(row)]);
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("XNorm", std::move(x_norm));
  op.SetOutput("YNorm", std::move(y_norm));
  return absl::OkStatus();
}

// With c the cosine: dx = dout * (y / (|x| |y|) - c x / |x|^2), and dy likewise.
absl::Status CosSimGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const RowPairs pairs, PairsOf(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", pairs.rows));
  const Array& x = *pairs.x;
  const Array& y = *pairs.y;
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  Array dy(y.dtype, y.dims);
  for (int64_t row = 0; row < pairs.rows; ++row) {
    const int64_t y_row = pairs.y_row(row);
    const double of_x = pairs.Product(x, row, x, row);
    const double of_y = pairs.Product(y, y_row, y, y_row);
    const double norms = std::sqrt(of_x * of_y);
    const double cosine = pairs.Product(x, row, y, y_row) / norms;
    for (int64_t j = 0; j < pairs.width; ++j) {
      const double a = x[row * pairs.width + j];
      const double b = y[y_row * pairs.width + j];
      dx[row * pairs.width + j] = dout[row] * (b / norms - cosine * a / of_x);
      dy[y_row * pairs.width + j] += dout[row] * (a / norms - cosine * b / of_y);
    }
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

}  // namespace

Kernels CosineSimilarityKernels() {
  return {{"cos_sim", CosSim}, {"cos_sim_grad", CosSimGradient}};
}

}  // namespace fixpoint::reference
