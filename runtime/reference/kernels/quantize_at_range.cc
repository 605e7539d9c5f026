// Quantization at a range that other ops give, and its gradient. Codes are made in float, as
// fake_quantize.cc makes them.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "ops/surrogate.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/quantizing.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// How the elements of X are quantized: which of them share a range, and what codes there are.
struct Ranges {
  AxisView view;  // an index along `size` has its own range
  CodeRange codes;
};

absl::StatusOr<Ranges> RangesOf(const OpRun& op) {
  const int64_t bit_length = op.Int("bit_length");
  RETURN_IF_ERROR(CheckBits("bit_length", bit_length));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOf(op));
  const CodeRange codes = SymmetricCodes(static_cast<int>(bit_length), rounding);
  const Array& x = op.Input("X");
  const int64_t axis = op.Int("quant_axis");
  if (axis == -1) return Ranges{{1, 1, x.size()}, codes};
  if (axis < 0 || axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                   DimsText(x.dims), "; want -1 or an axis of X"));
  }
  return Ranges{ViewAround(x.dims, static_cast<int>(axis)), codes};
}

// Calls f(c, i) with each element i and the index c of its range.
template <typename F>
void ForEachElement(const AxisView& view, F f) {
  ForEachLine(view, [&f](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) f(c, start + c * stride);
  });
}

absl::Status QuantizeAtRange(OpRun& op) {
  ASSIGN_OR_RETURN(const Ranges of, RangesOf(op));
  RETURN_IF_ERROR(op.CheckSize("InScale", of.view.size));
  const Array& x = op.Input("X");
  const Array& ranges = op.Input("InScale");
  Array out = x;
  ForEachElement(of.view, [&](int64_t c, int64_t i) {
    const float range = static_cast<float>(ranges[c]);
    const float code = QuantizeOne(static_cast<float>(x[i]), range, of.codes);
    out[i] = DequantizeOne(code, range, of.codes.largest);
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// With u = X / step, the step range / n, and the codes `lowest` to n (ops/surrogate.h):
//   dX = dOut and dstep = dOut * (round(u) - u) inside,
//   dX = 0 and dstep = dOut * code outside.
// The range is n steps, so that its gradient is an n-th of the step's.
absl::Status RangeGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Ranges of, RangesOf(op));
  ASSIGN_OR_RETURN(const Surrogate surrogate, SurrogateOf(op.String(kSurrogateAttr)));
  RETURN_IF_ERROR(op.CheckSize("InScale", of.view.size));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  const Array& dout = op.Input("Out@GRAD");
  const Array& ranges = op.Input("InScale");
  const double n = of.codes.largest;
  const double lowest = of.codes.smallest;
  const bool to_even = of.codes.rounding == QuantSpec::HALF_TO_EVEN;
  Array dx = x;
  Array dranges(ranges.dtype, ranges.dims);
  ForEachElement(of.view, [&](int64_t c, int64_t i) {
    const float range = static_cast<float>(ranges[c]);
    const float code = QuantizeOne(static_cast<float>(x[i]), range, of.codes);
    const double u = ranges[c] <= 1e-30 ? x[i] * n * InverseRange(range) : x[i] * n / ranges[c];
    const double rounded = to_even ? std::nearbyint(u) : std::round(u);
    const bool is_inside = surrogate == Surrogate::kRoundThenClamp
                               ? rounded >= lowest && rounded <= n
                               : u > lowest && u < n;
    const double of_step = !is_inside ? code : surrogate == Surrogate::kClamp ? 0 : code - u;
    dx[i] = is_inside ? dout[i] : 0;
    dranges[c] += dout[i] * of_step;
  });
  for (double& drange : dranges.values) drange /= n;
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("InScale@GRAD", std::move(dranges));
  return absl::OkStatus();
}

}  // namespace

Kernels QuantizeAtRangeKernels() {
  return {{"fake_quantize_dequantize_at_range", QuantizeAtRange},
          {"fake_quantize_dequantize_at_range_grad", RangeGradient},
          {"scale_gradient", [](OpRun& op) {
             op.SetOutput("Out", op.Input("X"));
             return absl::OkStatus();
           }}};
}

}  // namespace fixpoint::reference
