// Convolution and transposed convolution. Both are one set of products: a transposed convolution is
// the convolution that computes its input from its output, run backwards.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/activation.h"
#include "ops/fused_work.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// An image [N, C, H, W], however it lies in memory.
struct Image {
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
  bool channels_last;

  int64_t At(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return channels_last ? ((n * height + y) * width + x) * channels + c
                         : ((n * channels + c) * height + y) * width + x;
  }
  Dims dims() const {
    return channels_last ? Dims{batch, height, width, channels}
                         : Dims{batch, channels, height, width};
  }
};

// A convolution of `from` to `to`. Filter [to's channels, from's channels / groups, h, w].
struct Convolution {
  Image from;
  Image to;
  int64_t groups;
  Window window;
};

// Calls f(to_i, from_i, filter_i) with each product, and where it is added.
template <typename F>
void ForEachProduct(const Convolution& c, F f) {
  const auto& [vertical, horizontal] = c.window;
  const int64_t from_group = c.from.channels / c.groups;
  const int64_t to_group = c.to.channels / c.groups;
  for (int64_t n = 0; n < c.to.batch; ++n) {
    for (int64_t o = 0; o < c.to.channels; ++o) {
      for (int64_t y = 0; y < c.to.height; ++y) {
        for (int64_t x = 0; x < c.to.width; ++x) {
          const int64_t to = c.to.At(n, o, y, x);
          int64_t filter = o * from_group * vertical.kernel * horizontal.kernel;
          for (int64_t i = 0; i < from_group; ++i) {
            const int64_t channel = o / to_group * from_group + i;
            for (int64_t ky = 0; ky < vertical.kernel; ++ky) {
              const int64_t from_y =
                  y * vertical.stride - vertical.pad_before + ky * vertical.dilation;
              for (int64_t kx = 0; kx < horizontal.kernel; ++kx, ++filter) {
                const int64_t from_x =
                    x * horizontal.stride - horizontal.pad_before + kx * horizontal.dilation;
                const bool is_padding =
                    from_y < 0 || from_y >= c.from.height || from_x < 0 || from_x >= c.from.width;
                if (!is_padding) f(to, c.from.At(n, channel, from_y, from_x), filter);
              }
            }
          }
        }
      }
    }
  }
}

absl::StatusOr<Image> ImageOf(const OpRun& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckRank(slot, 4));
  const Dims& dims = op.Input(slot).dims;
  if (IsChannelsLast(op.String("data_format"))) {
    return Image{dims[0], dims[3], dims[1], dims[2], true};
  }
  return Image{dims[0], dims[1], dims[2], dims[3], false};
}

// Error: the filter does not fit channels and groups.
absl::Status CheckChannels(const OpRun& op, const Convolution& c) {
  const Dims& filter = op.Input("Filter").dims;
  const bool fits = c.groups >= 1 && c.from.channels % c.groups == 0 &&
                    c.to.channels % c.groups == 0 && filter[0] == c.to.channels &&
                    filter[1] == c.from.channels / c.groups;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(op.Input("Input").dims),
                                                 " and Filter ", DimsText(filter), " in ", c.groups,
                                                 " groups; want channels that fit"));
}

absl::StatusOr<Window> WindowOf(const OpRun& op, const Image& image) {
  const Dims& filter = op.Input("Filter").dims;
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          op.String("padding_algorithm")};
  return MakeWindow(attrs, DimsView(filter).subspan(2), Dims{image.height, image.width});
}

absl::StatusOr<Convolution> ForwardConvolution(const OpRun& op) {
  ASSIGN_OR_RETURN(const Image from, ImageOf(op, "Input"));
  RETURN_IF_ERROR(op.CheckRank("Filter", 4));
  Convolution c{from, from, op.Int("groups"), {}};
  c.to.channels = op.Input("Filter").dims[0];
  ASSIGN_OR_RETURN(c.window, WindowOf(op, from));
  ASSIGN_OR_RETURN(c.to.height, WindowCount(from.height, c.window[0]));
  ASSIGN_OR_RETURN(c.to.width, WindowCount(from.width, c.window[1]));
  RETURN_IF_ERROR(CheckChannels(op, c));
  return c;
}

// The convolution whose output is Input, and whose input is the transposed convolution's output.
absl::StatusOr<Convolution> TransposedConvolution(const OpRun& op) {
  ASSIGN_OR_RETURN(const Image to, ImageOf(op, "Input"));
  RETURN_IF_ERROR(op.CheckRank("Filter", 4));
  Convolution c{to, to, op.Int("groups"), {}};
  if (c.groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", c.groups, "; want 1 or more"));
  }
  c.from.channels = op.Input("Filter").dims[1] * c.groups;
  ASSIGN_OR_RETURN(c.window, WindowOf(op, to));
  ASSIGN_OR_RETURN(c.from.height, TransposedSize(to.height, c.window[0]));
  ASSIGN_OR_RETURN(c.from.width, TransposedSize(to.width, c.window[1]));
  RETURN_IF_ERROR(CheckChannels(op, c));

  // output_size, or output_padding, asks for up to stride - 1 more at the end.
  std::vector<int64_t> wanted = op.Ints("output_size");
  const std::vector<int64_t> added = op.Ints("output_padding");
  if (!added.empty() && added.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_padding has ", added.size(), " values; want 2 or none"));
  }
  if (wanted.empty() && !added.empty()) {
    wanted = {c.from.height + added[0], c.from.width + added[1]};
  }
  if (wanted.empty()) return c;
  if (wanted.size() != 2 || wanted[0] < c.from.height || wanted[1] < c.from.width ||
      wanted[0] >= c.from.height + c.window[0].stride ||
      wanted[1] >= c.from.width + c.window[1].stride) {
    return absl::InvalidArgumentError(absl::StrCat("the output is to be ", DimsText(wanted),
                                                   "; want ", c.from.height, " x ", c.from.width,
                                                   ", or less than a stride more"));
  }
  c.from.height = wanted[0];
  c.from.width = wanted[1];
  return c;
}

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
absl::Status AddFusedWork(const OpRun& op, const Image& to, Array* output) {
  ASSIGN_OR_RETURN(const FusedWork work, FusedWorkOf(op.op(), op.attributes()));
  if (!work.any()) return absl::OkStatus();
  const Array* bias = work.adds_bias ? op.FindInput("Bias") : nullptr;
  const Array* residual = work.adds_residual ? op.FindInput("ResidualData") : nullptr;
  if (bias != nullptr) RETURN_IF_ERROR(op.CheckSize("Bias", to.channels));
  if (residual != nullptr) RETURN_IF_ERROR(op.CheckDims("ResidualData", output->dims));
  const AxisView view = ViewAround(output->dims, to.channels_last ? 3 : 1);
  for (int64_t i = 0; i < output->size(); ++i) {
    double& x = (*output)[i];
    if (bias != nullptr) x += (*bias)[i / view.inner % view.size];
    if (residual != nullptr) x += (*residual)[i];
    if (work.activation) x = Activated(*work.activation, x);
  }
  return absl::OkStatus();
}

absl::Status Conv2d(OpRun& op) {
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  Array output(input.dtype, c.to.dims());
  ForEachProduct(
      c, [&](int64_t to, int64_t from, int64_t f) { output[to] += input[from] * filter[f]; });
  RETURN_IF_ERROR(AddFusedWork(op, c.to, &output));
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

// Adds up products of codes.
absl::Status IntegerConv2d(OpRun& op) {
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op));
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
  ASSIGN_OR_RETURN(Array output, StoreSums(op, sums, c.to.channels_last ? 3 : 1));
  op.SetOutput("Output", std::move(output));
  return absl::OkStatus();
}

absl::Status Conv2dGradient(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, ForwardConvolution(op));
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

absl::Status Conv2dTranspose(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op));
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
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op));
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

absl::Status Conv2dTransposeGradient(OpRun& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const Convolution c, TransposedConvolution(op));
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
                     {"integer_conv2d_transpose", IntegerConv2dTranspose}};
  for (const char* prefix : {"", "depthwise_"}) {
    kernels.push_back({absl::StrCat(prefix, "conv2d"), Conv2d});
    kernels.push_back({absl::StrCat(prefix, "conv2d_grad"), Conv2dGradient});
    kernels.push_back({absl::StrCat(prefix, "conv2d_transpose"), Conv2dTranspose});
    kernels.push_back({absl::StrCat(prefix, "conv2d_transpose_grad"), Conv2dTransposeGradient});
  }
  return kernels;
}

}  // namespace fixpoint::reference
