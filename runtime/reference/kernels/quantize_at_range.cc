// Quantization at a range, or at a step and a zero point, that other ops give, and its gradient.
// Codes are made in float, as fake_quantize.cc and fake_dequantize.cc make them.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/affine_codes.h"
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

struct Bounds {
  double lowest;
  double largest;
};

// Whether the surrogate takes u, or what it is rounded to, as one of the codes.
bool IsInside(Surrogate surrogate, double u, double rounded, const Bounds& codes) {
  if (surrogate == Surrogate::kRoundThenClamp) {
    return rounded >= codes.lowest && rounded <= codes.largest;
  }
  return u > codes.lowest && u < codes.largest;
}

double RoundedBy(QuantSpec::Rounding rounding, double u) {
  return rounding == QuantSpec::HALF_TO_EVEN ? std::nearbyint(u) : std::round(u);
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
  Array dx = x;
  Array dranges(ranges.dtype, ranges.dims);
  ForEachElement(of.view, [&](int64_t c, int64_t i) {
    const float range = static_cast<float>(ranges[c]);
    const float code = QuantizeOne(static_cast<float>(x[i]), range, of.codes);
    const double u = ranges[c] <= 1e-30 ? x[i] * n * InverseRange(range) : x[i] * n / ranges[c];
    const double rounded = RoundedBy(of.codes.rounding, u);
    const bool is_inside = IsInside(surrogate, u, rounded, {lowest, n});
    const double of_step = !is_inside ? code : surrogate == Surrogate::kClamp ? 0 : code - u;
    dx[i] = is_inside ? dout[i] : 0;
    dranges[c] += dout[i] * of_step;
  });
  for (double& drange : dranges.values) drange /= n;
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("InScale@GRAD", std::move(dranges));
  return absl::OkStatus();
}

// What quantizes with a zero point.
struct Affine {
  CodeRange codes;
  float step;
  float zero_point;
};

absl::StatusOr<Affine> AffineOf(const OpRun& op) {
  const int64_t bit_length = op.Int("bit_length");
  RETURN_IF_ERROR(CheckBits("bit_length", bit_length));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOf(op));
  RETURN_IF_ERROR(op.CheckSize("InScale", 1));
  RETURN_IF_ERROR(op.CheckSize("InZeroPoint", 1));
  const CodeRange codes =
      AffineCodes(static_cast<int>(bit_length), op.Bool("unsigned_codes"), rounding);
  const float zero_point = static_cast<float>(op.Input("InZeroPoint")[0]);
  if (!IsCode(zero_point, codes)) {
    return absl::InvalidArgumentError(absl::StrCat("the zero point is ", zero_point,
                                                   "; want a code, ", codes.smallest, " to ",
                                                   codes.largest));
  }
  return Affine{codes, static_cast<float>(op.Input("InScale")[0]), zero_point};
}

absl::Status QuantizeAffine(OpRun& op) {
  ASSIGN_OR_RETURN(const Affine by, AffineOf(op));
  Array out = op.Input("X");
  for (double& x : out.values) {
    const float code = StoredAffineCode(static_cast<float>(x), {by.step, by.zero_point}, by.codes);
    x = (code - by.zero_point) * by.step;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// With u = X / step, and the codes less the zero point:
//   dX = dOut and dstep = dOut * (round(u) - u) inside,
//   dX = 0, dstep = dOut * code and dzero_point = -step * dOut outside.
absl::Status AffineGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Affine by, AffineOf(op));
  ASSIGN_OR_RETURN(const Surrogate surrogate, SurrogateOf(op.String(kSurrogateAttr)));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  const Array& dout = op.Input("Out@GRAD");
  const Bounds codes = {static_cast<double>(by.codes.smallest) - by.zero_point,
                        static_cast<double>(by.codes.largest) - by.zero_point};
  const double step = op.Input("InScale")[0];
  Array dx = x;
  Array dstep(op.Input("InScale").dtype, op.Input("InScale").dims);
  Array dzero_point(op.Input("InZeroPoint").dtype, op.Input("InZeroPoint").dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double u = x[i] / step;
    const double rounded = RoundedBy(by.codes.rounding, u);
    if (IsInside(surrogate, u, rounded, codes)) {
      dx[i] = dout[i];
      dstep[0] += surrogate == Surrogate::kClamp ? 0 : dout[i] * (rounded - u);
      continue;
    }
    dx[i] = 0;
    dzero_point[0] -= step * dout[i];
    if (!std::isnan(u)) dstep[0] += dout[i] * (u > 0 ? codes.largest : codes.lowest);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("InScale@GRAD", std::move(dstep));
  op.SetOutput("InZeroPoint@GRAD", std::move(dzero_point));
  return absl::OkStatus();
}

}  // namespace

Kernels QuantizeAtRangeKernels() {
  return {{"fake_quantize_dequantize_at_range", QuantizeAtRange},
          {"fake_quantize_dequantize_at_range_grad", RangeGradient},
          {"fake_quantize_dequantize_affine", QuantizeAffine},
          {"fake_quantize_dequantize_affine_grad", AffineGradient},
          {"scale_gradient", [](OpRun& op) {
             op.SetOutput("Out", op.Input("X"));
             return absl::OkStatus();
           }}};
}

}  // namespace fixpoint::reference
