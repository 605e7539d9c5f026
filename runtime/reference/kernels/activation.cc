// Functions of one tensor, element by element, and their gradients.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

double Clip(double x, double low, double high) { return std::min(std::max(x, low), high); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
// log(1 + e^x), which neither overflows nor loses small values.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// Cumulative distribution and density of the standard normal distribution.
double NormalBelow(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double NormalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }

using Function = std::function<double(double)>;
// A function for the attributes of an op.
using FunctionOf = std::function<Function(const OpRun&)>;

FunctionOf Always(Function function) {
  return [function = std::move(function)](const OpRun&) { return function; };
}

struct Activation {
  const char* type;
  FunctionOf value;
};

// The derivative as a function of what the gradient op reads: X, or else Out.
struct Derivative {
  const char* type;
  FunctionOf of_x;
  FunctionOf of_out;
};

// Before 2.0 the reference's relu lets a NaN pass; since then it gives 0.
Function Relu(const OpRun& op) {
  if (op.era() == Era::kFluid) return [](double x) { return x < 0 ? 0 : x; };
  return [](double x) { return x > 0 ? x : 0; };
}

Function LeakyRelu(const OpRun& op) {
  return [alpha = op.Float("alpha")](double x) { return x >= 0 ? x : alpha * x; };
}
// From X or from Out: both have one sign if alpha is positive.
Function LeakyReluSlope(const OpRun& op) {
  return [alpha = op.Float("alpha")](double x) { return x >= 0 ? 1 : alpha; };
}

Function HardSwish(const OpRun& op) {
  return [threshold = op.Float("threshold"), scale = op.Float("scale"),
          offset = op.Float("offset")](double x) {
    return x * Clip(x + offset, 0.0, threshold) / scale;
  };
}
Function HardSwishSlope(const OpRun& op) {
  return [threshold = op.Float("threshold"), scale = op.Float("scale"),
          offset = op.Float("offset")](double x) {
    if (x + offset <= 0) return 0.0;
    return x + offset < threshold ? (2 * x + offset) / scale : threshold / scale;
  };
}

// sqrt(2 / pi) * (x + 0.044715 * x^3), of which the approximate form takes the tanh.
double GeluInner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }

Function Gelu(const OpRun& op) {
  if (op.Bool("approximate")) {
    return [](double x) { return x * Sigmoid(2 * GeluInner(x)); };
  }
  return [](double x) { return x * NormalBelow(x); };
}
Function GeluSlope(const OpRun& op) {
  if (op.Bool("approximate")) {
    return [](double x) {
      const double t = std::tanh(GeluInner(x));
      const double inner_slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope;
    };
  }
  return [](double x) { return NormalBelow(x) + x * NormalDensity(x); };
}

Function Swish(double beta) {
  return [beta](double x) { return x * Sigmoid(beta * x); };
}
Function SwishSlope(double beta) {
  return [beta](double x) {
    const double s = Sigmoid(beta * x);
    return s + beta * x * s * (1 - s);
  };
}

const Activation kActivations[] = {
    {"relu", Relu},
    {"relu6",
     [](const OpRun& op) {
       return [threshold = op.Float("threshold")](double x) { return Clip(x, 0.0, threshold); };
     }},
    {"leaky_relu", LeakyRelu},
    {"elu",
     [](const OpRun& op) {
       return [alpha = op.Float("alpha")](double x) { return x >= 0 ? x : alpha * std::expm1(x); };
     }},
    {"selu",
     [](const OpRun& op) {
       return [scale = op.Float("scale"), alpha = op.Float("alpha")](double x) {
         return scale * (x > 0 ? x : alpha * std::expm1(x));
       };
     }},
    {"brelu",
     [](const OpRun& op) {
       return [low = op.Float("t_min"), high = op.Float("t_max")](double x) {
         return Clip(x, low, high);
       };
     }},
    {"thresholded_relu",
     [](const OpRun& op) {
       return [threshold = op.Float("threshold")](double x) { return x > threshold ? x : 0; };
     }},
    {"sigmoid", Always(Sigmoid)},
    {"tanh", Always([](double x) { return std::tanh(x); })},
    {"hard_sigmoid",
     [](const OpRun& op) {
       return [slope = op.Float("slope"), offset = op.Float("offset")](double x) {
         return Clip(slope * x + offset, 0.0, 1.0);
       };
     }},
    {"hard_swish", HardSwish},
    {"swish", [](const OpRun& op) { return Swish(op.Float("beta")); }},
    {"silu", [](const OpRun&) { return Swish(1); }},
    {"gelu", Gelu},
    {"softplus",
     [](const OpRun& op) {
       return [beta = op.Float("beta"), threshold = op.Float("threshold")](double x) {
         return beta * x > threshold ? x : Softplus(beta * x) / beta;
       };
     }},
    {"softsign", Always([](double x) { return x / (1 + std::fabs(x)); })},
    {"logsigmoid", Always([](double x) { return -Softplus(-x); })},
    {"soft_relu",
     [](const OpRun& op) {
       return [threshold = op.Float("threshold")](double x) {
         return Softplus(Clip(x, -threshold, threshold));
       };
     }},
    {"mish",
     [](const OpRun& op) {
       return [threshold = op.Float("threshold")](double x) {
         return x * std::tanh(x > threshold ? x : Softplus(x));
       };
     }},
    {"abs", Always([](double x) { return std::fabs(x); })},
    {"exp", Always([](double x) { return std::exp(x); })},
    {"log", Always([](double x) { return std::log(x); })},
    {"sqrt", Always([](double x) { return std::sqrt(x); })},
    {"square", Always([](double x) { return x * x; })},
    {"erf", Always([](double x) { return std::erf(x); })},
    {"rsqrt", Always([](double x) { return 1 / std::sqrt(x); })},
    {"reciprocal", Always([](double x) { return 1 / x; })},
    {"sin", Always([](double x) { return std::sin(x); })},
    {"cos", Always([](double x) { return std::cos(x); })},
    {"ceil", Always([](double x) { return std::ceil(x); })},
    {"floor", Always([](double x) { return std::floor(x); })},
    {"round", Always([](double x) { return std::round(x); })},
    {"sign", Always(Sign)},
};

const Derivative kDerivatives[] = {
    {"relu_grad", nullptr, Always([](double out) { return out > 0 ? 1 : 0; })},
    {"relu6_grad", nullptr,
     [](const OpRun& op) {
       return [threshold = op.Float("threshold")](double out) {
         return out > 0 && out < threshold ? 1 : 0;
       };
     }},
    {"leaky_relu_grad", LeakyReluSlope, LeakyReluSlope},
    {"sigmoid_grad", nullptr, Always([](double out) { return out * (1 - out); })},
    {"tanh_grad", nullptr, Always([](double out) { return 1 - out * out; })},
    {"hard_sigmoid_grad", nullptr,
     [](const OpRun& op) {
       return [slope = op.Float("slope")](double out) { return out > 0 && out < 1 ? slope : 0; };
     }},
    {"hard_swish_grad", HardSwishSlope, nullptr},
    {"swish_grad", [](const OpRun& op) { return SwishSlope(op.Float("beta")); }, nullptr},
    {"silu_grad", [](const OpRun&) { return SwishSlope(1); }, nullptr},
    {"gelu_grad", GeluSlope, nullptr},
    {"abs_grad", Always(Sign), nullptr},
    {"exp_grad", nullptr, Always([](double out) { return out; })},
    {"log_grad", Always([](double x) { return 1 / x; }), nullptr},
    {"sqrt_grad", nullptr, Always([](double out) { return 0.5 / out; })},
    {"square_grad", Always([](double x) { return 2 * x; }), nullptr},
    {"erf_grad", Always([](double x) { return M_2_SQRTPI * std::exp(-x * x); }), nullptr},
};

absl::Status Apply(OpRun& op, const FunctionOf& function_of) {
  const Array& x = op.Input("X");
  const Function function = function_of(op);
  Array out(x.dtype, x.dims);
  std::transform(x.values.begin(), x.values.end(), out.values.begin(), function);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ApplyGradient(OpRun& op, const Derivative& derivative) {
  const Array* x = derivative.of_x != nullptr ? op.FindInput("X") : nullptr;
  const Array& read =
      x != nullptr || derivative.of_out == nullptr ? op.Input("X") : op.Input("Out");
  const Function slope = x != nullptr ? derivative.of_x(op) : derivative.of_out(op);
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", read.dims));
  Array dx(dout.dtype, dout.dims);
  for (int64_t i = 0; i < dx.size(); ++i) dx[i] = dout[i] * slope(read[i]);
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// FactorTensor [1] takes precedence over the attribute.
absl::Status Power(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("FactorTensor", 1));
  const Array* tensor = op.FindInput("FactorTensor");
  const double factor = tensor != nullptr ? (*tensor)[0] : op.Float("factor");
  return Apply(op, Always([factor](double x) { return std::pow(x, factor); }));
}

// Which element of Alpha belongs to an element of X: the one (mode all), its channel's, or that at
// its place in an image (element).
absl::StatusOr<std::function<int64_t(int64_t)>> AlphaOf(const OpRun& op) {
  const Array& x = op.Input("X");
  const std::string mode = op.String("mode");
  if (mode == "all") {
    RETURN_IF_ERROR(op.CheckSize("Alpha", 1));
    return [](int64_t) { return int64_t{0}; };
  }
  if (x.rank() < 2 || (mode != "channel" && mode != "element")) {
    return absl::InvalidArgumentError(absl::StrCat("mode is \"", mode, "\" and X ",
                                                   DimsText(x.dims),
                                                   "; want all, channel or element of images"));
  }
  const AxisView image = ViewAround(x.dims, 1, x.rank());
  if (mode == "element") {
    RETURN_IF_ERROR(op.CheckSize("Alpha", image.size));
    return [size = image.size](int64_t i) { return i % size; };
  }
  const bool channels_last = IsChannelsLast(op.String("data_format"));
  const AxisView view = ViewAround(x.dims, channels_last ? x.rank() - 1 : 1);
  RETURN_IF_ERROR(op.CheckSize("Alpha", view.size));
  return [view](int64_t i) { return i / view.inner % view.size; };
}

absl::Status Prelu(OpRun& op) {
  ASSIGN_OR_RETURN(const auto place, AlphaOf(op));
  const Array& alpha = op.Input("Alpha");
  Array out = op.Input("X");
  for (int64_t i = 0; i < out.size(); ++i) out[i] *= out[i] > 0 ? 1 : alpha[place(i)];
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status PreluGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const auto place, AlphaOf(op));
  const Array& x = op.Input("X");
  const Array& alpha = op.Input("Alpha");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  Array dx(x.dtype, x.dims);
  Array dalpha(alpha.dtype, alpha.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    dx[i] = dout[i] * (x[i] > 0 ? 1 : alpha[place(i)]);
    dalpha[place(i)] += x[i] > 0 ? 0 : dout[i] * x[i];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Alpha@GRAD", std::move(dalpha));
  return absl::OkStatus();
}

}  // namespace

Kernels ActivationKernels() {
  Kernels kernels = {{"pow", Power}, {"prelu", Prelu}, {"prelu_grad", PreluGradient}};
  for (const Activation& activation : kActivations) {
    kernels.push_back(
        {activation.type, [&activation](OpRun& op) { return Apply(op, activation.value); }});
  }
  for (const Derivative& derivative : kDerivatives) {
    kernels.push_back(
        {derivative.type, [&derivative](OpRun& op) { return ApplyGradient(op, derivative); }});
  }
  return kernels;
}

}  // namespace fixpoint::reference
