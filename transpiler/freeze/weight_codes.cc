#include "transpiler/freeze/weight_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/dims.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/channel_view.h"
#include "runtime/half.h"

namespace fixpoint {
namespace {

template <typename T>
void FillCodes(absl::Span<const float> values, absl::Span<const float> scales,
               const ChannelView& view, const WeightCodesOptions& options, absl::Span<T> codes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = scales[view.ChannelOf(i)];
    codes[i] = scale == 0 ? T{0} : static_cast<T>(QuantizeOne(values[i], scale, options.codes));
  }
}

// The values of one channel.
std::vector<float> ValuesOf(absl::Span<const float> values, const ChannelView& view, int64_t c) {
  std::vector<float> channel;
  view.ForEachRun(values, c, [&channel](absl::Span<const float> run) {
    channel.insert(channel.end(), run.begin(), run.end());
  });
  return channel;
}

absl::StatusOr<std::vector<float>> FindScales(absl::Span<const float> values,
                                              const ChannelView& view,
                                              const WeightCodesOptions& options) {
  std::vector<float> scales;
  for (int64_t c = 0; c < view.channels; ++c) {
    const std::vector<float> channel = ValuesOf(values, view, c);
    const float scale = options.find_scale ? options.find_scale(channel) : AbsMax(channel);
    if (!std::isfinite(scale) || scale < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("gets the scale ", scale,
                       " of its quantizer; want a finite number that is not negative"));
    }
    scales.push_back(scale);
  }
  return scales;
}

// Errors: those of MakeWeightCodes that concern the weight alone.
absl::Status CheckWeight(const Tensor& weight, int axis) {
  if (weight.dtype() != VarType::FP32) {
    return absl::InvalidArgumentError(
        absl::StrCat("is of type ", VarType::Type_Name(weight.dtype()), "; want FP32"));
  }
  const int rank = static_cast<int>(weight.dims().size());
  if (axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", DimsText(weight.dims()), " and has no axis ", axis, " for channels"));
  }
  const absl::Span<const float> values = weight.data<float>();
  if (values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", DimsText(weight.dims()), " and has no elements"));
  }
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    return absl::InvalidArgumentError("holds NaN or infinity");
  }
  return absl::OkStatus();
}

float OfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

float OfBfloat16(uint16_t bits) { return OfBits(uint32_t{bits} << 16); }

template <typename T, typename Convert>
void ConvertEach(const Tensor& from, Convert convert, absl::Span<float> to) {
  const uint8_t* bytes = from.bytes().data();
  for (float& value : to) {
    T element;
    std::memcpy(&element, bytes, sizeof(T));
    bytes += sizeof(T);
    value = convert(element);
  }
}

}  // namespace

std::string NameOfCodes(absl::string_view weight, VarType::Type dtype) {
  return absl::StrCat(weight, ".", absl::AsciiStrToLower(VarType::Type_Name(dtype)));
}

absl::StatusOr<Tensor> AsFloat(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(VarType::FP32, tensor.dims()));
  const absl::Span<float> to = made.mutable_data<float>();
  const auto as_it_is = [](auto element) { return static_cast<float>(element); };
  switch (tensor.dtype()) {
    case VarType::FP32:
      ConvertEach<float>(tensor, as_it_is, to);
      return made;
    case VarType::FP64:
      ConvertEach<double>(tensor, as_it_is, to);
      return made;
    case VarType::FP16:
      ConvertEach<uint16_t>(tensor, FloatOfHalf, to);
      return made;
    case VarType::BF16:
      ConvertEach<uint16_t>(tensor, OfBfloat16, to);
      return made;
    case VarType::INT8:
      ConvertEach<int8_t>(tensor, as_it_is, to);
      return made;
    case VarType::INT16:
      ConvertEach<int16_t>(tensor, as_it_is, to);
      return made;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "is of type ", VarType::Type_Name(tensor.dtype()), "; want FP16, BF16, FP32 or FP64"));
  }
}

absl::StatusOr<WeightCodes> MakeWeightCodes(const Tensor& weight,
                                            const WeightCodesOptions& options) {
  RETURN_IF_ERROR(CheckWeight(weight, options.axis));
  const absl::Span<const float> values = weight.data<float>();
  const ChannelView view(weight.dims(), options.axis);
  std::vector<float> scales = options.scales;
  if (scales.empty()) {
    ASSIGN_OR_RETURN(scales, FindScales(values, view, options));
  } else if (scales.size() == 1) {
    scales.assign(view.channels, scales[0]);
  } else if (static_cast<int64_t>(scales.size()) != view.channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", DimsText(weight.dims()), ", and there are ", scales.size(),
                     " scales; want one for each of the ", view.channels, " channels"));
  }
  ASSIGN_OR_RETURN(Tensor codes, Tensor::Allocate(CodeDtype(options.codes), weight.dims()));
  if (FitByte(options.codes)) {
    FillCodes(values, scales, view, options, codes.mutable_data<int8_t>());
  } else {
    FillCodes(values, scales, view, options, codes.mutable_data<int16_t>());
  }
  for (int64_t c = 0; c < view.channels; ++c) {
    if (scales[c] == 0) scales[c] = 1;
  }
  return WeightCodes{std::move(codes), Tensor::FromValues<float>({view.channels}, scales), {}};
}

absl::StatusOr<WeightCodes> MakeAffineWeightCodes(
    const Tensor& weight, const WeightCodesOptions& options,
    const std::function<AffineParams(absl::Span<const float>)>& find) {
  RETURN_IF_ERROR(CheckWeight(weight, options.axis));
  if (!FitByte(options.codes) || options.codes.is_unsigned || options.axis < 0) {
    return absl::UnimplementedError(absl::StrCat(
        "has codes of ", options.codes.bits, options.codes.is_unsigned ? " unsigned" : "",
        " bits with a zero point", options.axis < 0 ? ", one for all" : "", "; want up to 8",
        options.codes.is_unsigned ? ", signed" : "", ", and one for each channel"));
  }
  const absl::Span<const float> values = weight.data<float>();
  const ChannelView view(weight.dims(), options.axis);
  std::vector<AffineParams> params;
  for (int64_t c = 0; c < view.channels; ++c) params.push_back(find(ValuesOf(values, view, c)));
  ASSIGN_OR_RETURN(Tensor codes, Tensor::Allocate(CodeDtype(options.codes), weight.dims()));
  for (size_t i = 0; i < values.size(); ++i) {
    codes.mutable_data<int8_t>()[i] =
        static_cast<int8_t>(AffineCode(values[i], params[view.ChannelOf(i)], options.codes));
  }
  ASSIGN_OR_RETURN(Tensor scales, Tensor::Allocate(VarType::FP32, {view.channels}));
  ASSIGN_OR_RETURN(Tensor zero_points, Tensor::Allocate(VarType::INT32, {view.channels}));
  for (int64_t c = 0; c < view.channels; ++c) {
    scales.mutable_data<float>()[c] = params[c].step;
    zero_points.mutable_data<int32_t>()[c] = static_cast<int32_t>(params[c].zero_point);
  }
  return WeightCodes{std::move(codes), std::move(scales), std::move(zero_points)};
}

absl::StatusOr<WeightCodes> MakeStoredAffineWeightCodes(const Tensor& weight,
                                                        const WeightCodesOptions& options) {
  RETURN_IF_ERROR(CheckWeight(weight, options.axis));
  if (!FitByte(options.codes) || options.axis >= 0) {
    return absl::UnimplementedError(absl::StrCat(
        "has codes of ", options.codes.bits, " bits with ",
        options.axis >= 0 ? "a zero point for each channel that was stored" : "a zero point",
        "; want up to 8, and one for all"));
  }
  ASSIGN_OR_RETURN(Tensor codes, Tensor::Allocate(CodeDtype(options.codes), weight.dims()));
  const absl::Span<const float> values = weight.data<float>();
  const auto fill = [&](auto to) {
    std::transform(values.begin(), values.end(), to.begin(), [&](float value) {
      return static_cast<typename decltype(to)::value_type>(
          StoredAffineCode(value, *options.affine, options.codes));
    });
  };
  if (options.codes.is_unsigned) {
    fill(codes.mutable_data<uint8_t>());
  } else {
    fill(codes.mutable_data<int8_t>());
  }
  const float step[] = {options.affine->step};
  const float zero_point[] = {options.affine->zero_point};
  return WeightCodes{std::move(codes), Tensor::FromValues<float>({1}, step),
                     Tensor::FromValues<float>({1}, zero_point)};
}

}  // namespace fixpoint
