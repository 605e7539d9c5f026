// Convolution and transposed convolution of images and volumes, of floats and of codes.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/activation.h"
#include "ops/code_dtype.h"
#include "ops/fused_work.h"
#include "ops/int8_convolution.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/convolved.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The stages of FusedWork.
double Activated(const Activation& activation, double x) {
  switch (activation.function) {
    case ActivationFunction::kRelu:
      return x > 0 ? x : 0;
    case ActivationFunction::kClip:
      return x > activation.a ? std::min<double>(x, activation.b) : activation.a;
    case ActivationFunction::kLeakyRelu:
      return x >= 0 ? x : activation.a * x;
    case ActivationFunction::kSwish:
      return x / (1 + std::exp(-activation.a * x));
    case ActivationFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationFunction::kTanh:
      return std::tanh(x);
    default:
      LOG(FATAL) << "no function of FusedWork";
  }
}

// Applies the work that the reference's inference passes fold into the op, after the sums.
absl::Status AddFusedWork(const OpRun& op, const Features& to, Array* output) {
  ASSIGN_OR_RETURN(const FusedWork work, FusedWorkOf(op.op(), op.attributes()));
  if (!work.any()) return absl::OkStatus();
  const Array* bias = work.adds_bias ? op.FindInput("Bias") : nullptr;
  const Array* residual = work.adds_residual ? op.FindInput("ResidualData") : nullptr;
  if (bias != nullptr) RETURN_IF_ERROR(op.CheckSize("Bias", to.channels));
  if (residual != nullptr) RETURN_IF_ERROR(op.CheckDims("ResidualData", output->dims));
  const AxisView view = ViewAround(output->dims, to.channel_axis());
  for (int64_t i = 0; i < output->size(); ++i) {
    double& x = (*output)[i];
    if (bias != nullptr) x += (*bias)[i / view.inner % view.size];
    if (residual != nullptr) x += (*residual)[i];
    if (work.activation) x = Activated(*work.activation, x);
  }
  return absl::OkStatus();
}

// The codes of a filter of floats.
absl::StatusOr<Array> FilterCodes(const Int8Convolution& int8, const Array& filter) {
  if (filter.dtype == VarType::INT8) return filter;
  if (filter.dtype != VarType::FP32) {
    return absl::UnimplementedError(
        absl::StrCat("Filter is ", TypeName(filter.dtype), "; want f32 or i8"));
  }
  std::vector<float> numbers(filter.values.begin(), filter.values.end());
  std::vector<int8_t> codes(numbers.size());
  int8.FillFilterCodes(numbers, absl::MakeSpan(codes));
  Array coded(VarType::INT8, filter.dims);
  std::copy(codes.begin(), codes.end(), coded.values.begin());
  return coded;
}

// Of codes: ops/int8_convolution.h.
absl::Status Int8Conv2d(OpRun& op, const Convolution& c) {
  const Array* const residual = op.FindInput("ResidualData");
  ASSIGN_OR_RETURN(
      const Int8Convolution int8,
      ReadInt8Convolution(op.op(), op.attributes(), c.to.channels,
                          residual == nullptr ? std::nullopt : std::optional(residual->dtype)));
  ASSIGN_OR_RETURN(const Array filter, FilterCodes(int8, op.Input("Filter")));
  const Array& input = op.Input("Input");
  const Array* const bias = int8.adds_bias ? op.FindInput("Bias") : nullptr;
  if (bias != nullptr) RETURN_IF_ERROR(op.CheckSize("Bias", c.to.channels));
  Array sums(VarType::FP64, c.to.dims());
  ForEachProduct(c,
                 [&](int64_t to, int64_t from, int64_t f) { sums[to] += input[from] * filter[f]; });
  const int channel_axis = c.to.channel_axis();
  const AxisView view = ViewAround(sums.dims, channel_axis);
  for (int64_t i = 0; i < sums.size(); ++i) {
    const int64_t o = i / view.inner % view.size;
    if (bias != nullptr) sums[i] += int8.BiasCode(static_cast<float>((*bias)[o]), o);
    sums[i] = static_cast<float>(sums[i]) * int8.sum_scales[o];
  }
  std::vector<const Array*> operands(int8.epilogue.size());
  if (int8.adds_residual) {
    RETURN_IF_ERROR(op.CheckDims("ResidualData", sums.dims));
    operands.front() = residual;
  }
  op.SetOutput("Output",
               StoreAfter(int8.epilogue, operands, int8.dtype, channel_axis, std::move(sums)));
  return absl::OkStatus();
}

template <int axes>
absl::Status Conv(OpRun& op) {
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op, axes));
  if constexpr (axes == 2) {
    if (IsCodeDtype(op.Input("Input").dtype)) return Int8Conv2d(op, c);
  } else {
    RETURN_IF_ERROR(CheckNothingFused(op.op()));
  }
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  Array output(input.dtype, c.to.dims());
  ForEachProduct(
      c, [&](int64_t to, int64_t from, int64_t f) { output[to] += input[from] * filter[f]; });
  if constexpr (axes == 2) RETURN_IF_ERROR(AddFusedWork(op, c.to, &output));
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

// Adds up products of codes.
absl::Status IntegerConv2d(OpRun& op) {
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op, 2));
  RETURN_IF_ERROR(CheckSums(op, "Input", "Filter", c.to.channels));
  RETURN_IF_ERROR(CheckBias(op));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "input_zero_point", input.dtype));
  ASSIGN_OR_RETURN(const float of_filter, ZeroPointOf(op, "weight_zero_point", filter.dtype));
  Array sums(VarType::FP64, c.to.dims());
  ForEachProduct(c, [&](int64_t to, int64_t from, int64_t f) {
    sums[to] += (input[from] - zero_point) * (filter[f] - of_filter);
  });
  ASSIGN_OR_RETURN(Array output, StoreSums(op, sums, c.to.channel_axis()));
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

template <int axes>
absl::Status ConvGradient(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op, axes));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", c.to.dims()));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  const Array& doutput = op.Input("Output@GRAD");
  Array dinput(input.dtype, input.dims);
  Array dfilter(filter.dtype, filter.dims);
  ForEachProduct(c, [&](int64_t to, int64_t from, int64_t f) {
    dinput[from] += doutput[to] * filter[f];
    dfilter[f] += doutput[to] * input[from];
  });
  op.SetOutput("Input@GRAD", std::move(dinput));
  op.SetOutput("Filter@GRAD", std::move(dfilter));
  return absl::OkStatus();
}

template <int axes>
absl::Status ConvTranspose(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op, axes));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  Array output(input.dtype, c.from.dims());
  ForEachProduct(
      c, [&](int64_t to, int64_t from, int64_t f) { output[from] += input[to] * filter[f]; });
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

// Adds up products of codes.
absl::Status IntegerConv2dTranspose(OpRun& op) {
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op, 2));
  RETURN_IF_ERROR(CheckSums(op, "Input", "Filter", c.from.channels));
  RETURN_IF_ERROR(CheckBias(op));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "input_zero_point", input.dtype));
  ASSIGN_OR_RETURN(const float of_filter, ZeroPointOf(op, "weight_zero_point", filter.dtype));
  Array sums(VarType::FP64, c.from.dims());
  ForEachProduct(c, [&](int64_t to, int64_t from, int64_t f) {
    sums[from] += (input[to] - zero_point) * (filter[f] - of_filter);
  });
  ASSIGN_OR_RETURN(Array output, StoreSums(op, std::move(sums), c.from.channels_last ? 3 : 1));
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

template <int axes>
absl::Status ConvTransposeGradient(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op, axes));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", c.from.dims()));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  const Array& doutput = op.Input("Output@GRAD");
  Array dinput(input.dtype, input.dims);
  Array dfilter(filter.dtype, filter.dims);
  ForEachProduct(c, [&](int64_t to, int64_t from, int64_t f) {
    dinput[to] += doutput[from] * filter[f];
    dfilter[f] += doutput[from] * input[to];
  });
  op.SetOutput("Input@GRAD", std::move(dinput));
  op.SetOutput("Filter@GRAD", std::move(dfilter));
  return absl::OkStatus();
}

}  // namespace

Kernels ConvolutionKernels() {
  Kernels kernels = {{"integer_conv2d", IntegerConv2d},
                     {"integer_conv2d_transpose", IntegerConv2dTranspose},
                     {"conv3d", Conv<3>},
                     {"conv3d_grad", ConvGradient<3>},
                     {"conv3d_transpose", ConvTranspose<3>},
                     {"conv3d_transpose_grad", ConvTransposeGradient<3>}};
  for (const char* prefix : {"", "depthwise_"}) {
    kernels.push_back({absl::StrCat(prefix, "conv2d"), Conv<2>});
    kernels.push_back({absl::StrCat(prefix, "conv2d_grad"), ConvGradient<2>});
    kernels.push_back({absl::StrCat(prefix, "conv2d_transpose"), ConvTranspose<2>});
    kernels.push_back({absl::StrCat(prefix, "conv2d_transpose_grad"), ConvTransposeGradient<2>});
  }
  return kernels;
}

}  // namespace fixpoint::reference
