// Ops that find elements, and tables of rows: embeddings, top-k, one-hot.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/row_format.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/selected_rows.h"
#include "runtime/reference/walk.h"
#include "runtime/row_formats.h"

namespace fixpoint::reference {
namespace {

absl::Status CheckIndex(absl::string_view slot, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has ", index, "; want 0 to ", size - 1));
}

// Rows of W, and which row each place of the output is.
struct Lookup {
  Dims out_dims;
  std::vector<int64_t> rows;
  int64_t width;
  std::optional<int64_t> padding;  // the row that is 0
};

// Version 1 has Ids [..., 1], version 2 Ids [...].
absl::StatusOr<Lookup> LookupOf(const OpRun& op, bool is_v2) {
  RETURN_IF_ERROR(op.CheckRank("W", 2));
  const Array& w = op.Input("W");
  const Array& ids = op.Input("Ids");
  Lookup lookup{ids.dims, {}, w.dims[1], {}};
  if (!is_v2) {
    if (ids.rank() < 1 || ids.dims.back() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Ids is ", DimsText(ids.dims), "; want a last dimension of 1"));
    }
    lookup.out_dims.pop_back();
  }
  lookup.out_dims.push_back(w.dims[1]);
  const int64_t padding = op.Int("padding_idx");
  if (padding != -1) lookup.padding = padding < 0 ? padding + w.dims[0] : padding;
  for (const double id : ids.values) {
    const int64_t row = ToInt(id);
    if (row != lookup.padding) RETURN_IF_ERROR(CheckIndex("Ids", row, w.dims[0]));
    lookup.rows.push_back(row);
  }
  return lookup;
}

// Calls f(i, w_i) with each element that is looked up.
template <typename F>
void ForEachLookedUp(const Lookup& lookup, F f) {
  for (size_t r = 0; r < lookup.rows.size(); ++r) {
    if (lookup.rows[r] == lookup.padding) continue;
    for (int64_t j = 0; j < lookup.width; ++j) {
      f(static_cast<int64_t>(r) * lookup.width + j, lookup.rows[r] * lookup.width + j);
    }
  }
}

absl::Status LookupTable(OpRun& op, bool is_v2) {
  ASSIGN_OR_RETURN(const Lookup lookup, LookupOf(op, is_v2));
  const Array& w = op.Input("W");
  Array out(w.dtype, lookup.out_dims);
  ForEachLookedUp(lookup, [&](int64_t i, int64_t w_i) { out[i] = w[w_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The floats that the codes of a row stand for: (code - offset) * scale / largest_code.
absl::Status LookupCodes(OpRun& op, bool is_v2) {
  ASSIGN_OR_RETURN(const Lookup lookup, LookupOf(op, is_v2));
  RETURN_IF_ERROR(CheckCodes(op, "W"));
  const Array& codes = op.Input("W");
  const Array& scales = op.Input("Scales");
  const Array* offsets = op.FindInput("Offsets");
  if (scales.size() != 1) RETURN_IF_ERROR(op.CheckSize("Scales", codes.dims[0]));
  if (offsets != nullptr && offsets->size() != 1) {
    RETURN_IF_ERROR(op.CheckSize("Offsets", codes.dims[0]));
  }
  const auto largest = static_cast<float>(op.Int("largest_code"));
  Array out(VarType::FP32, lookup.out_dims);
  ForEachLookedUp(lookup, [&](int64_t i, int64_t w_i) {
    const int64_t row = w_i / lookup.width;
    const double offset = offsets == nullptr ? 0 : (*offsets)[offsets->size() == 1 ? 0 : row];
    const auto code = static_cast<float>(codes[w_i] - offset);
    out[i] = code * static_cast<float>(scales[scales.size() == 1 ? 0 : row]) / largest;
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status LookupRowsOfBytes(const Lookup& lookup, RowFormat format, OpRun& op) {
  const Array& w = op.Input("W");
  if (w.dtype != VarType::UINT8) {
    return absl::InvalidArgumentError(absl::StrCat("W is ", TypeName(w.dtype), "; rows of ",
                                                   NameOf(format), " are ",
                                                   TypeName(VarType::UINT8)));
  }
  const auto width = static_cast<size_t>(lookup.width);
  ASSIGN_OR_RETURN(const size_t columns, MostColumns(format, width));
  Dims out_dims = lookup.out_dims;
  out_dims.back() = static_cast<int64_t>(columns);
  Array out(VarType::FP32, out_dims);
  std::vector<uint8_t> bytes(width);
  std::vector<float> row(columns);
  for (size_t r = 0; r < lookup.rows.size(); ++r) {
    if (lookup.rows[r] == lookup.padding) continue;
    const auto first = w.values.begin() + lookup.rows[r] * lookup.width;
    std::copy_n(first, width, bytes.begin());
    DecodeRow(format, bytes, absl::MakeSpan(row));
    std::copy(row.begin(), row.end(), out.values.begin() + static_cast<int64_t>(r * columns));
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// A row is its minimum and its maximum, and then codes of 8 bits, four in the bits of each float:
// (max - min) / 256 * code + min, each operation rounded to a float.
absl::Status LookupPackedRows(OpRun& op) {
  ASSIGN_OR_RETURN(const Lookup lookup, LookupOf(op, /*is_v2=*/false));
  ASSIGN_OR_RETURN(const RowFormat format, RowFormatOf(op.String(kRowFormatAttr)));
  if (format != RowFormat::kPaddleDequant) return LookupRowsOfBytes(lookup, format, op);
  constexpr int64_t kRangeWords = 2;
  constexpr int64_t kCodesOfWord = 4;
  if (lookup.width <= kRangeWords) {
    return absl::InvalidArgumentError(
        absl::StrCat("W has rows of ", lookup.width, "; want more than ", kRangeWords));
  }
  const Array& w = op.Input("W");
  const int64_t width = (lookup.width - kRangeWords) * kCodesOfWord;
  Dims out_dims = lookup.out_dims;
  out_dims.back() = width;
  Array out(VarType::FP32, out_dims);
  for (size_t r = 0; r < lookup.rows.size(); ++r) {
    if (lookup.rows[r] == lookup.padding) continue;
    const int64_t row = lookup.rows[r] * lookup.width;
    const auto min = static_cast<float>(w[row]);
    const float step = (static_cast<float>(w[row + 1]) - min) / 256;
    for (int64_t j = 0; j < width; ++j) {
      const uint32_t word = FloatBits(w[row + kRangeWords + j / kCodesOfWord]);
      const uint32_t code = word >> (8 * (j % kCodesOfWord)) & 0xff;
      out[static_cast<int64_t>(r) * width + j] = step * static_cast<float>(code) + min;
    }
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// A sparse gradient has a row for each id, in their order, and one for padding too, as the
// reference's.
absl::Status SetSparseGradient(OpRun& op, const Lookup& lookup) {
  const Array& w = op.Input("W");
  for (const int64_t row : lookup.rows) RETURN_IF_ERROR(CheckIndex("Ids", row, w.dims[0]));
  op.SetSelectedRows("W@GRAD",
                     TableOf(w.dtype, w.dims, {lookup.rows, op.Input("Out@GRAD").values}));
  return absl::OkStatus();
}

absl::Status LookupTableGradient(OpRun& op, bool is_v2) {
  ASSIGN_OR_RETURN(const Lookup lookup, LookupOf(op, is_v2));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(lookup.out_dims)));
  if (op.Bool("is_sparse")) return SetSparseGradient(op, lookup);
  const Array& w = op.Input("W");
  const Array& dout = op.Input("Out@GRAD");
  Array dw(w.dtype, w.dims);
  ForEachLookedUp(lookup, [&](int64_t i, int64_t w_i) { dw[w_i] += dout[i]; });
  op.SetOutput("W@GRAD", std::move(dw));
  return absl::OkStatus();
}

// Places along each line, sorted by their values, stably; NaN is above everything.
std::vector<int64_t> Order(const Array& x, int64_t start, int64_t stride, int64_t size,
                           bool descending) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  const auto is_less = [&](int64_t a, int64_t b) {
    const double left = x[start + a * stride];
    const double right = x[start + b * stride];
    return std::isnan(right) ? !std::isnan(left) : left < right;
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? is_less(b, a) : is_less(a, b);
  });
  return order;
}

// The first k of each line in order, and where they were.
absl::Status SetOrdered(OpRun& op, int64_t axis, int64_t k, bool descending) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
  if (k < 0 || k > x.dims[i]) {
    return absl::InvalidArgumentError(absl::StrCat("k is ", k, " and X is ", DimsText(x.dims),
                                                   "; want 0 to the size of axis ", i));
  }
  Dims dims = x.dims;
  dims[i] = k;
  Array out(x.dtype, dims);
  Array indices(VarType::INT64, dims);
  const AxisView view = ViewAround(x.dims, i);
  const AxisView out_view = ViewAround(dims, i);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      const std::vector<int64_t> order =
          Order(x, view.At(o, 0, inner), view.inner, view.size, descending);
      for (int64_t j = 0; j < k; ++j) {
        out[out_view.At(o, j, inner)] = x[view.At(o, order[j], inner)];
        indices[out_view.At(o, j, inner)] = order[j];
      }
    }
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("Indices", std::move(indices));
  return absl::OkStatus();
}

// K [1] takes precedence over the attribute.
absl::StatusOr<int64_t> CountOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("K", 1));
  const Array* k = op.FindInput("K");
  return k != nullptr ? ToInt((*k)[0]) : op.Int("k");
}

absl::Status TopK(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t k, CountOf(op));
  return SetOrdered(op, -1, k, /*descending=*/true);
}

absl::Status TopKV2(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t k, CountOf(op));
  return SetOrdered(op, op.Int("axis"), k, op.Bool("largest"));
}

absl::Status ArgSort(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  return SetOrdered(op, axis, x.dims[axis], op.Bool("descending"));
}

absl::Status TopKGradient(OpRun& op, int64_t axis) {
  const Array& x = op.Input("X");
  const Array& indices = op.Input("Indices");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
  Dims dims = x.dims;
  if (indices.rank() == x.rank()) dims[i] = indices.dims[i];
  RETURN_IF_ERROR(op.CheckDims("Indices", dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  Array dx(x.dtype, x.dims);
  const AxisView view = ViewAround(x.dims, i);
  const AxisView out_view = ViewAround(dims, i);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      for (int64_t j = 0; j < out_view.size; ++j) {
        const int64_t from = out_view.At(o, j, inner);
        const int64_t index = ToInt(indices[from]);
        RETURN_IF_ERROR(CheckIndex("Indices", index, view.size));
        dx[view.At(o, index, inner)] += dout[from];
      }
    }
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// The first of the largest elements along an axis, which are the smallest ones of the other sign.
absl::Status ArgMax(OpRun& op, double sign) {
  Array x = op.Input("X");
  for (double& element : x.values) element *= sign;
  if (op.Bool("flatten")) x.dims = {x.size()};
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  if (x.dims[axis] == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want elements on axis ", axis));
  }
  Dims dims = x.dims;
  dims[axis] = 1;
  if (!op.Bool("keepdims")) dims.erase(dims.begin() + axis);
  if (dims.empty()) dims = op.ScalarDims();
  VarType::Type dtype = VarType::INT64;
  if (op.Int("dtype") >= 0) {
    ASSIGN_OR_RETURN(dtype, op.DataType("dtype"));
  }
  Array out(dtype, dims);
  int64_t line = 0;
  ForEachLine(ViewAround(x.dims, axis), [&](int64_t start, int64_t stride, int64_t size) {
    int64_t largest = 0;
    for (int64_t i = 1; i < size; ++i) {
      if (x[start + i * stride] > x[start + largest * stride]) largest = i;
    }
    out[line++] = largest;
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status OneHot(OpRun& op, bool is_v2) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckSize("depth_tensor", 1));
  const Array* tensor = op.FindInput("depth_tensor");
  const int64_t depth = tensor != nullptr ? ToInt((*tensor)[0]) : op.Int("depth");
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  Dims dims = x.dims;
  if (!is_v2 && (dims.empty() || dims.back() != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(dims), "; want a last dimension of 1"));
  }
  if (!is_v2) dims.pop_back();
  if (depth < 1)
    return absl::InvalidArgumentError(absl::StrCat("depth is ", depth, "; want 1 or more"));
  dims.push_back(depth);
  Array out(dtype, dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t index = ToInt(x[i]);
    const bool is_in_range = index >= 0 && index < depth;
    if (!is_in_range && !op.Bool("allow_out_of_range")) {
      RETURN_IF_ERROR(CheckIndex("X", index, depth));
    }
    if (is_in_range) out[i * depth + index] = 1;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The place of each element that is not 0, as indices along all axes.
absl::Status WhereIndex(OpRun& op) {
  const Array& condition = op.Input("Condition");
  std::vector<double> indices;
  for (int64_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) continue;
    const size_t row = indices.size();
    indices.resize(row + condition.dims.size());
    int64_t rest = i;
    for (size_t axis = condition.dims.size(); axis-- > 0;) {
      indices[row + axis] = static_cast<double>(rest % condition.dims[axis]);
      rest /= condition.dims[axis];
    }
  }
  const auto width = static_cast<int64_t>(condition.dims.size());
  const int64_t rows = width > 0 ? static_cast<int64_t>(indices.size()) / width
                                 : static_cast<int64_t>(condition[0] != 0);
  Array out(VarType::INT64, Dims{rows, width});
  out.values = std::move(indices);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels IndexingKernels() {
  return {
      {"lookup_table", [](OpRun& op) { return LookupTable(op, /*is_v2=*/false); }},
      {"lookup_table_v2", [](OpRun& op) { return LookupTable(op, /*is_v2=*/true); }},
      {"lookup_table_grad", [](OpRun& op) { return LookupTableGradient(op, /*is_v2=*/false); }},
      {"lookup_table_v2_grad", [](OpRun& op) { return LookupTableGradient(op, /*is_v2=*/true); }},
      {"lookup_table_dequant", LookupPackedRows},
      {"integer_lookup_table", [](OpRun& op) { return LookupCodes(op, /*is_v2=*/false); }},
      {"integer_lookup_table_v2", [](OpRun& op) { return LookupCodes(op, /*is_v2=*/true); }},
      {"top_k", TopK},
      {"top_k_v2", TopKV2},
      {"top_k_grad", [](OpRun& op) { return TopKGradient(op, -1); }},
      {"top_k_v2_grad", [](OpRun& op) { return TopKGradient(op, op.Int("axis")); }},
      {"arg_max", [](OpRun& op) { return ArgMax(op, 1); }},
      {"arg_min", [](OpRun& op) { return ArgMax(op, -1); }},
      {"argsort", ArgSort},
      {"one_hot", [](OpRun& op) { return OneHot(op, /*is_v2=*/false); }},
      {"one_hot_v2", [](OpRun& op) { return OneHot(op, /*is_v2=*/true); }},
      {"where_index", WhereIndex},
  };
}

}  // namespace fixpoint::reference
