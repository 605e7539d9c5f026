#include "transpiler/weight_codes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/quant_math.h"
#include "proto/status_macros.h"

namespace fixpoint {
namespace {

// A tensor seen as [outer, channels, inner].
struct ChannelView {
  int64_t channels = 1;
  int64_t inner = 1;

  ChannelView(const std::vector<int64_t>& dims, int axis) {
    if (axis < 0) {
      for (const int64_t dim : dims) inner *= dim;
      return;
    }
    channels = dims[axis];
    for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  }
  int64_t ChannelOf(int64_t element) const { return element / inner % channels; }
};

template <typename T>
void FillCodes(absl::Span<const float> values, absl::Span<const float> scales,
               const ChannelView& view, const WeightCodesOptions& options, absl::Span<T> codes) {
  const int32_t largest = LargestCode(options.bits);
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = scales[view.ChannelOf(i)];
    codes[i] = scale == 0
                   ? T{0}
                   : static_cast<T>(QuantizeOne(values[i], scale, largest, options.rounding));
  }
}

}  // namespace

absl::StatusOr<WeightCodes> MakeWeightCodes(const Tensor& weight,
                                            const WeightCodesOptions& options) {
  if (weight.dtype() != VarType::FP32) {
    return absl::InvalidArgumentError(
        absl::StrCat("is of type ", VarType::Type_Name(weight.dtype()), "; want FP32"));
  }
  const int rank = static_cast<int>(weight.dims().size());
  if (options.axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is ", DimsText(weight.dims()), " and has no axis ", options.axis, " for channels"));
  }
  const absl::Span<const float> values = weight.data<float>();
  if (values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", DimsText(weight.dims()), " and has no elements"));
  }
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    return absl::InvalidArgumentError("holds NaN or infinity");
  }
  const ChannelView view(weight.dims(), options.axis);
  std::vector<float> scales(view.channels, options.scale.value_or(0.0f));
  if (!options.scale.has_value()) {
    for (size_t i = 0; i < values.size(); ++i) {
      float& scale = scales[view.ChannelOf(i)];
      scale = std::max(scale, std::fabs(values[i]));
    }
  }
  const bool is_short = options.bits > 8;
  ASSIGN_OR_RETURN(Tensor codes,
                   Tensor::Allocate(is_short ? VarType::INT16 : VarType::INT8, weight.dims()));
  if (is_short) {
    FillCodes(values, scales, view, options, codes.mutable_data<int16_t>());
  } else {
    FillCodes(values, scales, view, options, codes.mutable_data<int8_t>());
  }
  for (int64_t c = 0; c < view.channels; ++c) {
    if (scales[c] == 0) scales[c] = 1;
  }
  return WeightCodes{std::move(codes), Tensor::FromValues<float>({view.channels}, scales)};
}

}  // namespace fixpoint
