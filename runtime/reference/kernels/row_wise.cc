// Codes with a step and a zero point for each row of a weight, and the product of such weights.
//
// These compute in float, in the order of operations of ops/affine_codes.h; sums are integers.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/kernels/quantizing.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<AxisView> RowsOf(const OpRun& op) {
  const Dims& dims = op.Input("X").dims;
  const int64_t axis = op.Int("quant_axis");
  if (axis >= 0 && axis < static_cast<int64_t>(dims.size())) {
    return ViewAround(dims, static_cast<int>(axis));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("quant_axis is ", axis, " and X is ", DimsText(dims), "; want an axis of X"));
}

// The smallest and the largest value of each row, widened to contain 0.
struct Range {
  float min = 0;
  float max = 0;
};

absl::Status Quantize(OpRun& op) {
  ASSIGN_OR_RETURN(const int bits, BitsOf(op));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOf(op));
  ASSIGN_OR_RETURN(const AxisView rows, RowsOf(op));
  Array out = op.Input("X");
  std::vector<Range> ranges(rows.size);
  ForEachLine(rows, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t row = 0; row < size; ++row) {
      const auto x = static_cast<float>(out[start + row * stride]);
      if (!std::isfinite(x)) continue;
      ranges[row].min = std::min(ranges[row].min, x);
      ranges[row].max = std::max(ranges[row].max, x);
    }
  });

  const float lowest = -std::ldexp(1.0f, bits - 1);
  const float largest = -lowest - 1;
  const float count = largest - lowest;
  Array scales(VarType::FP32, Dims{rows.size});
  Array zero_points(VarType::INT32, Dims{rows.size});
  for (int64_t row = 0; row < rows.size; ++row) {
    const auto [min, max] = ranges[row];
    float step = (max - min) / count;
    if (std::isinf(step)) step = max / count - min / count;
    if (step < std::numeric_limits<float>::min()) step = 1;
    const float zero_point = RoundHalfToEven(lowest - min / step);
    scales[row] = step;
    zero_points[row] = std::min(std::max(zero_point, lowest), largest);
  }

  ForEachLine(rows, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t row = 0; row < size; ++row) {
      double& x = out[start + row * stride];
      const auto zero_point = static_cast<float>(zero_points[row]);
      const float steps = static_cast<float>(x) / static_cast<float>(scales[row]);
      const float rounded =
          rounding == QuantSpec::HALF_TO_EVEN ? RoundHalfToEven(steps) : std::round(steps);
      const float code = rounded + zero_point;
      x = std::isnan(code) ? zero_point : std::min(std::max(code, lowest), largest);
    }
  });
  op.SetOutput("Out", std::move(out));
  op.SetOutput("OutScale", std::move(scales));
  op.SetOutput("OutZeroPoint", std::move(zero_points));
  return absl::OkStatus();
}

absl::Status Dequantize(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView rows, RowsOf(op));
  RETURN_IF_ERROR(op.CheckSize("Scale", rows.size));
  RETURN_IF_ERROR(op.CheckSize("ZeroPoint", rows.size));
  const Array& scales = op.Input("Scale");
  const Array& zero_points = op.Input("ZeroPoint");
  Array out = op.Input("X");
  out.dtype = VarType::FP32;
  ForEachLine(rows, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t row = 0; row < size; ++row) {
      double& x = out[start + row * stride];
      const float steps = static_cast<float>(x) - static_cast<float>(zero_points[row]);
      x = steps * static_cast<float>(scales[row]);
    }
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status FullyConnect(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("Y", 2));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  const Array& offsets = op.Input("Offsets");
  const int64_t inner = y.dims[0];
  const int64_t columns = y.dims[1];
  RETURN_IF_ERROR(CheckSums(op, "X", "Y", columns));
  RETURN_IF_ERROR(op.CheckSize("Offsets", columns));
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "input_zero_point", x.dtype));
  const int64_t leading = op.Int("x_num_col_dims");
  if (leading < 1 || leading >= x.rank() || Volume(DimsView(x.dims).subspan(leading)) != inner) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " to be split at ",
                                                   leading, " and Y ", DimsText(y.dims),
                                                   "; want rows as long as the columns of Y"));
  }
  Dims dims(x.dims.begin(), x.dims.begin() + leading);
  dims.push_back(columns);
  Array sums(VarType::FP64, dims);
  for (int64_t i = 0; i < sums.size(); ++i) {
    const int64_t column = i % columns;
    const int64_t row = i / columns * inner;
    for (int64_t k = 0; k < inner; ++k) {
      sums[i] += (x[row + k] - zero_point) * (y[k * columns + column] - offsets[column]);
    }
  }
  ASSIGN_OR_RETURN(Array out, StoreSums(op, sums, static_cast<int>(dims.size()) - 1));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels RowWiseKernels() {
  return {{"fake_row_wise_quantize_min_max", Quantize},
          {"fake_row_wise_dequantize", Dequantize},
          {"integer_row_wise_fc", FullyConnect}};
}

}  // namespace fixpoint::reference
