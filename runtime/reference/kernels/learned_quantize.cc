// Quantization with a learned range, and its gradient: Learned Step Size Quantization (Esser et al.
// 2020, arXiv 1902.08153). Codes are made in float, as fake_quantize.cc makes them.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
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

absl::StatusOr<Ranges> RangesOf(const OpRun& op, bool per_channel) {
  const int64_t bit_length = op.Int("bit_length");
  RETURN_IF_ERROR(CheckBits("bit_length", bit_length));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOf(op));
  const CodeRange codes = SymmetricCodes(static_cast<int>(bit_length), rounding);
  const Array& x = op.Input("X");
  if (!per_channel) return Ranges{{1, 1, x.size()}, codes};
  const int64_t axis = op.Int("quant_axis");
  if (axis < 0 || axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                   DimsText(x.dims), "; want an axis of X"));
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

// Gives those ranges that no step has found yet their first value, 2 * mean|X| / sqrt(n) for a
// step; one of zeros alone waits for a tensor that has more.
void Initialize(const Ranges& of, const Array& x, Array* ranges, Array* initialized) {
  std::vector<double> sums(of.view.size, 0.0);
  ForEachElement(of.view, [&](int64_t c, int64_t i) { sums[c] += std::fabs(x[i]); });
  const double count = static_cast<double>(of.view.outer * of.view.inner);
  for (int64_t c = 0; c < of.view.size; ++c) {
    if ((*initialized)[c] != 0) continue;
    const double range = count == 0 ? 0 : 2 * (sums[c] / count) * std::sqrt(of.codes.largest);
    (*ranges)[c] = static_cast<float>(range);
    (*initialized)[c] = std::isfinite(range) && (*ranges)[c] > 0 ? 1 : 0;
  }
}

absl::Status LsqQuantize(OpRun& op, bool per_channel) {
  ASSIGN_OR_RETURN(const Ranges of, RangesOf(op, per_channel));
  RETURN_IF_ERROR(op.CheckSize("InScale", of.view.size));
  const Array& x = op.Input("X");
  Array ranges = op.Input("InScale");
  if (!op.Bool("is_test")) {
    if (op.FindInput("InInitialized") == nullptr) {
      return absl::InvalidArgumentError(
          "input InInitialized is absent, and is_test is false; want as many numbers as InScale");
    }
    RETURN_IF_ERROR(op.CheckSize("InInitialized", of.view.size));
    Array initialized = op.Input("InInitialized");
    Initialize(of, x, &ranges, &initialized);
    op.SetOutput("OutScale", ranges);
    op.SetOutput("OutInitialized", std::move(initialized));
  }
  Array out = x;
  ForEachElement(of.view, [&](int64_t c, int64_t i) {
    const float range = static_cast<float>(ranges[c]);
    const float code = QuantizeOne(static_cast<float>(x[i]), range, of.codes);
    out[i] = DequantizeOne(code, range, of.codes.largest);
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// With u = X / step, the step range / n, and the codes `lowest` to n:
//   dX = dOut and dstep = dOut * (round(u) - u) where lowest < u < n,
//   dX = 0 and dstep = dOut * code elsewhere (eq. 3 and 5 of the paper).
// The step's gradient is scaled by 1 / sqrt(N * n) (its §2.2). An update of the range moves the
// step by an n-th of it, so that the range is given n times the step's gradient.
absl::Status LsqGradient(OpRun& op, bool per_channel) {
  ASSIGN_OR_RETURN(const Ranges of, RangesOf(op, per_channel));
  RETURN_IF_ERROR(op.CheckSize("OutScale", of.view.size));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  const Array& dout = op.Input("Out@GRAD");
  const Array& ranges = op.Input("OutScale");
  const double n = of.codes.largest;
  const double lowest = of.codes.smallest;
  Array dx = x;
  Array dranges(ranges.dtype, ranges.dims);
  ForEachElement(of.view, [&](int64_t c, int64_t i) {
    const float range = static_cast<float>(ranges[c]);
    const float code = QuantizeOne(static_cast<float>(x[i]), range, of.codes);
    const double u = ranges[c] <= 1e-30 ? x[i] * n * InverseRange(range) : x[i] * n / ranges[c];
    const bool is_inside = u > lowest && u < n;
    dx[i] = is_inside ? dout[i] : 0;
    dranges[c] += dout[i] * (is_inside ? code - u : code);
  });
  double sharing = static_cast<double>(of.view.outer * of.view.inner);
  if (op.Bool("per_sample") && x.rank() > 0) sharing /= static_cast<double>(x.dims[0]);
  if (x.size() > 0) {
    for (double& drange : dranges.values) drange *= std::sqrt(n / sharing);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("InScale@GRAD", std::move(dranges));
  return absl::OkStatus();
}

}  // namespace

Kernels LearnedQuantizeKernels() {
  return {
      {"fake_quantize_dequantize_lsq", [](OpRun& op) { return LsqQuantize(op, false); }},
      {"fake_quantize_dequantize_lsq_grad", [](OpRun& op) { return LsqGradient(op, false); }},
      {"fake_channel_wise_quantize_dequantize_lsq",
       [](OpRun& op) { return LsqQuantize(op, true); }},
      {"fake_channel_wise_quantize_dequantize_lsq_grad",
       [](OpRun& op) { return LsqGradient(op, true); }},
  };
}

}  // namespace fixpoint::reference
