// A bias in steps of the sums that it is added to. The codes are those of ops/bias_codes.h; added
// in float, as here, its sum with a product is rounded differently from the sum of the integers.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/channel_ranges.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// Calls f with each element of X and its step, and returns the results, FP32.
template <typename F>
absl::StatusOr<Array> OfEach(const OpRun& op, F f) {
  RETURN_IF_ERROR(op.CheckRank("X", 1));
  RETURN_IF_ERROR(op.CheckSize("InputScale", 1));
  const Array* const of_weight = op.FindInput("WeightScale");
  const std::vector<double> ranges = of_weight != nullptr ? of_weight->values : std::vector{1.0};
  Array out = op.Input("X");
  const auto count = static_cast<int64_t>(ranges.size());
  if (of_weight != nullptr) RETURN_IF_ERROR(CheckWeightScale(of_weight->dims, out.dims, 0));
  const auto input_code = static_cast<int32_t>(op.Int("input_largest_code"));
  const auto weight_code = static_cast<int32_t>(op.Int("weight_largest_code"));
  out.dtype = VarType::FP32;
  for (int64_t c = 0; c < out.size(); ++c) {
    const float step = BiasStep(static_cast<float>(op.Input("InputScale")[0]), input_code,
                                static_cast<float>(ranges[c % count]), weight_code);
    out[c] = f(out[c], step);
  }
  return out;
}

absl::Status QuantizeDequantize(OpRun& op) {
  const int64_t bits = op.Int("bit_length");
  if (!AreBiasBits(bits)) {
    return absl::InvalidArgumentError(absl::StrCat("bit_length is ", bits, "; want 16 or 32"));
  }
  ASSIGN_OR_RETURN(Array out, OfEach(op, [bits](double x, float step) {
                     const int32_t code =
                         BiasCode(static_cast<float>(x), step, static_cast<int>(bits));
                     return static_cast<float>(code) * step;
                   }));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Dequantize(OpRun& op) {
  if (op.Input("X").dtype != VarType::INT32 && op.Input("X").dtype != VarType::INT16) {
    return absl::UnimplementedError("X is no INT16 or INT32; want the codes of a bias");
  }
  for (const double code : op.Input("X").values) {
    RETURN_IF_ERROR(CheckBiasCode(static_cast<int32_t>(code), "X holds"));
  }
  ASSIGN_OR_RETURN(Array out, OfEach(op, [](double code, float step) {
                     return static_cast<float>(code) * step;
                   }));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels QuantizedBiasKernels() {
  return {{"fake_quantize_dequantize_bias", QuantizeDequantize},
          {"fake_dequantize_bias", Dequantize}};
}

}  // namespace fixpoint::reference
