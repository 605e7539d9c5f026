// Matrix products. Each op locates the elements of its matrices; the sum over them, and the two
// gradients that follow from it, are written once.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/fused_work.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// A batch of matrices in an array: element (i, j) of matrix b is at start[b] + i * row + j *
// column.
struct Matrices {
  std::vector<int64_t> start;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t row = 1;
  int64_t column = 1;
};

// X [m, k] times Y [k, n] is Out [m, n], for each matrix of the batch. Out is row major.
struct Product {
  Matrices x;
  Matrices y;
  Dims out_dims;
  double alpha = 1;
};

// Calls f(out_i, x_i, y_i) with each pair of elements that are multiplied, and where it goes.
template <typename F>
void ForEachTerm(const Product& product, F f) {
  int64_t out = 0;
  for (size_t b = 0; b < product.x.start.size(); ++b) {
    for (int64_t i = 0; i < product.x.rows; ++i) {
      for (int64_t j = 0; j < product.y.columns; ++j, ++out) {
        const int64_t x = product.x.start[b] + i * product.x.row;
        const int64_t y = product.y.start[b] + j * product.y.column;
        for (int64_t k = 0; k < product.x.columns; ++k) {
          f(out, x + k * product.x.column, y + k * product.y.row);
        }
      }
    }
  }
}

using MakeProduct = absl::StatusOr<Product> (*)(const OpRun& op);

// Multiplies codes.
absl::Status MultiplyCodes(OpRun& op, MakeProduct make) {
  ASSIGN_OR_RETURN(const Product product, make(op));
  RETURN_IF_ERROR(CheckSums(op, "X", "Y", product.y.columns));
  RETURN_IF_ERROR(CheckBias(op));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  if (y.rank() < 2) return absl::UnimplementedError("Y is a vector; want columns");
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "input_zero_point", x.dtype));
  ASSIGN_OR_RETURN(const float y_zero_point, ZeroPointOf(op, "weight_zero_point", y.dtype));
  Array sums(VarType::FP64, product.out_dims);
  ForEachTerm(product, [&](int64_t i, int64_t x_i, int64_t y_i) {
    sums[i] += (x[x_i] - zero_point) * (y[y_i] - y_zero_point);
  });
  // Also for a Y whose columns are more than one dimension.
  const int64_t rows = product.x.rows * static_cast<int64_t>(product.x.start.size());
  sums.Reshape({rows, product.y.columns});
  ASSIGN_OR_RETURN(Array out, StoreSums(op, std::move(sums), /*channel_axis=*/1));
  out.Reshape(product.out_dims);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Multiply(OpRun& op, MakeProduct make) {
  ASSIGN_OR_RETURN(const Product product, make(op));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  Array out(x.dtype, product.out_dims);
  ForEachTerm(product, [&](int64_t i, int64_t x_i, int64_t y_i) { out[i] += x[x_i] * y[y_i]; });
  for (double& element : out.values) element *= product.alpha;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status MultiplyGradient(OpRun& op, MakeProduct make) {
  ASSIGN_OR_RETURN(const Product product, make(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", product.out_dims));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  Array dy(y.dtype, y.dims);
  ForEachTerm(product, [&](int64_t i, int64_t x_i, int64_t y_i) {
    dx[x_i] += product.alpha * dout[i] * y[y_i];
    dy[y_i] += product.alpha * dout[i] * x[x_i];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

absl::Status CheckInner(const Product& product, const Array& x, const Array& y,
                        absl::string_view x_slot = "X", absl::string_view y_slot = "Y") {
  if (product.x.columns == product.y.rows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      x_slot, " ", DimsText(x.dims), " has rows of ", product.x.columns, " and ", y_slot, " ",
      DimsText(y.dims), " has columns of ", product.y.rows, "; want equal numbers"));
}

// `dims` as one matrix, its first `columns` dimensions the rows.
absl::StatusOr<Matrices> Flattened(absl::string_view slot, DimsView dims, int64_t columns) {
  if (columns < 1 || columns >= static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(dims), " to be split at ",
                                                   columns, "; want 1 to its rank - 1"));
  }
  Matrices matrix;
  matrix.start = {0};
  matrix.rows = Volume(dims.subspan(0, columns));
  matrix.columns = Volume(dims.subspan(columns));
  matrix.row = matrix.columns;
  return matrix;
}

absl::StatusOr<Product> MulProduct(const OpRun& op) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  const int64_t x_columns = op.Int("x_num_col_dims");
  const int64_t y_columns = op.Int("y_num_col_dims");
  Product product;
  ASSIGN_OR_RETURN(product.x, Flattened("X", x.dims, x_columns));
  ASSIGN_OR_RETURN(product.y, Flattened("Y", y.dims, y_columns));
  RETURN_IF_ERROR(CheckInner(product, x, y));
  product.out_dims.assign(x.dims.begin(), x.dims.begin() + x_columns);
  product.out_dims.insert(product.out_dims.end(), y.dims.begin() + y_columns, y.dims.end());
  return product;
}

absl::Status FullyConnect(OpRun& op) {
  const std::string activation = op.String("activation_type");
  if (op.Bool("padding_weights") || (!activation.empty() && activation != "relu")) {
    return absl::UnimplementedError(absl::StrCat(
        "padding_weights is ", op.Bool("padding_weights") ? "true" : "false",
        " and activation_type \"", activation, "\"; want false, and \"relu\" or none"));
  }
  RETURN_IF_ERROR(op.CheckRank("W", 2));
  const Array& input = op.Input("Input");
  const Array& w = op.Input("W");
  const int64_t columns = op.Int("in_num_col_dims");
  Product product;
  ASSIGN_OR_RETURN(product.x, Flattened("Input", input.dims, columns));
  ASSIGN_OR_RETURN(product.y, Flattened("W", w.dims, 1));
  RETURN_IF_ERROR(CheckInner(product, input, w, "Input", "W"));
  product.out_dims.assign(input.dims.begin(), input.dims.begin() + columns);
  product.out_dims.push_back(w.dims[1]);
  Array out(input.dtype, product.out_dims);
  ForEachTerm(product, [&](int64_t i, int64_t x_i, int64_t w_i) { out[i] += input[x_i] * w[w_i]; });
  if (const Array* bias = op.FindInput("Bias"); bias != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("Bias", w.dims[1]));
    for (int64_t i = 0; i < out.size(); ++i) out[i] += (*bias)[i % w.dims[1]];
  }
  if (activation == "relu") {
    for (double& element : out.values) element = element > 0 ? element : 0;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The last two of `dims` as rows and columns, swapped if `transpose`.
Matrices LastTwo(DimsView dims, bool transpose) {
  const size_t rank = dims.size();
  Matrices matrices;
  matrices.rows = dims[rank - 2];
  matrices.columns = dims[rank - 1];
  matrices.row = matrices.columns;
  if (transpose) {
    std::swap(matrices.rows, matrices.columns);
    std::swap(matrices.row, matrices.column);
  }
  return matrices;
}

// A product over the last two dimensions, the leading ones broadcast. A vector X is a row and a
// vector Y a column, or, transposed, the other; the result lacks the vector's dimension of 1.
absl::StatusOr<Product> BatchedProduct(const OpRun& op, bool transpose_x, bool transpose_y,
                                       double alpha) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  if (x.rank() < 1 || y.rank() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y is ",
                                                   DimsText(y.dims), "; want 1 dimension or more"));
  }
  Dims x_dims = x.dims;
  Dims y_dims = y.dims;
  if (x.rank() == 1) x_dims.insert(x_dims.begin(), 1);
  if (y.rank() == 1) y_dims.push_back(1);
  Product product;
  product.alpha = alpha;
  product.x = LastTwo(x_dims, transpose_x);
  product.y = LastTwo(y_dims, transpose_y);
  RETURN_IF_ERROR(CheckInner(product, x, y));

  ASSIGN_OR_RETURN(const Pairing batch, Pair(DimsView(x_dims).subspan(0, x_dims.size() - 2),
                                             DimsView(y_dims).subspan(0, y_dims.size() - 2)));
  const int64_t x_size = product.x.rows * product.x.columns;
  const int64_t y_size = product.y.rows * product.y.columns;
  if (x_size > 0 && y_size > 0) {
    ForEachPair(batch, [&](int64_t, int64_t x_i, int64_t y_i) {
      product.x.start.push_back(x_i * x_size);
      product.y.start.push_back(y_i * y_size);
    });
  }

  product.out_dims = batch.dims;
  if (x.rank() > 1 || product.x.rows != 1) product.out_dims.push_back(product.x.rows);
  if (y.rank() > 1 || product.y.columns != 1) product.out_dims.push_back(product.y.columns);
  if (product.out_dims.empty()) product.out_dims = op.ScalarDims();
  return product;
}

absl::StatusOr<Product> MatmulProduct(const OpRun& op) {
  RETURN_IF_ERROR(CheckMatmulAlone(op.attributes()));
  return BatchedProduct(op, op.Bool("transpose_X"), op.Bool("transpose_Y"), op.Float("alpha"));
}

// A vector is the same, transposed or not.
absl::StatusOr<Product> MatmulV2Product(const OpRun& op) {
  return BatchedProduct(op, op.Bool("trans_x") && op.Input("X").rank() > 1,
                        op.Bool("trans_y") && op.Input("Y").rank() > 1, 1);
}

// As many matrices in X and Y.
absl::StatusOr<Product> BmmProduct(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 3));
  RETURN_IF_ERROR(op.CheckRank("Y", 3));
  const Dims& x = op.Input("X").dims;
  const Dims& y = op.Input("Y").dims;
  if (x[0] == y[0]) return BatchedProduct(op, false, false, 1);
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and Y is ", DimsText(y),
                                                 "; want as many matrices in both"));
}

// Alpha * X * Y of an addmm.
absl::StatusOr<Product> AddmmProduct(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  RETURN_IF_ERROR(op.CheckRank("Y", 2));
  return BatchedProduct(op, /*transpose_x=*/false, /*transpose_y=*/false, op.Float("Alpha"));
}

// How Input of an addmm is paired with the product's elements.
absl::StatusOr<Pairing> AddendsOf(const OpRun& op, const Product& product) {
  ASSIGN_OR_RETURN(Pairing pairing, Pair(product.out_dims, op.Input("Input").dims));
  if (pairing.dims == product.out_dims) return pairing;
  return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(op.Input("Input").dims),
                                                 "; want what broadcasts to ",
                                                 DimsText(product.out_dims)));
}

absl::Status Addmm(OpRun& op) {
  ASSIGN_OR_RETURN(const Product product, AddmmProduct(op));
  ASSIGN_OR_RETURN(const Pairing pairing, AddendsOf(op, product));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  Array out(x.dtype, product.out_dims);
  ForEachTerm(product, [&](int64_t i, int64_t x_i, int64_t y_i) {
    out[i] += product.alpha * x[x_i] * y[y_i];
  });
  ForEachPair(pairing, [&](int64_t i, int64_t, int64_t input_i) {
    out[i] += op.Float("Beta") * op.Input("Input")[input_i];
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status AddmmGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Product product, AddmmProduct(op));
  ASSIGN_OR_RETURN(const Pairing pairing, AddendsOf(op, product));
  RETURN_IF_ERROR(MultiplyGradient(op, AddmmProduct));
  Array dinput(op.Input("Input").dtype, op.Input("Input").dims);
  ForEachPair(pairing, [&](int64_t i, int64_t, int64_t input_i) {
    dinput[input_i] += op.Float("Beta") * op.Input("Out@GRAD")[i];
  });
  op.SetOutput("Input@GRAD", std::move(dinput));
  return absl::OkStatus();
}

}  // namespace

Kernels ProductKernels() {
  Kernels kernels = {
      {"fc", FullyConnect},
      {"addmm", Addmm},
      {"addmm_grad", AddmmGradient},
      {"integer_mul", [](OpRun& op) { return MultiplyCodes(op, MulProduct); }},
      {"integer_matmul", [](OpRun& op) { return MultiplyCodes(op, MatmulV2Product); }},
  };
  const std::pair<const char*, MakeProduct> products[] = {{"mul", MulProduct},
                                                          {"matmul", MatmulProduct},
                                                          {"matmul_v2", MatmulV2Product},
                                                          {"bmm", BmmProduct}};
  for (const auto& [type, make] : products) {
    kernels.push_back({type, [make = make](OpRun& op) { return Multiply(op, make); }});
    kernels.push_back({absl::StrCat(type, "_grad"),
                       [make = make](OpRun& op) { return MultiplyGradient(op, make); }});
  }
  return kernels;
}

}  // namespace fixpoint::reference
