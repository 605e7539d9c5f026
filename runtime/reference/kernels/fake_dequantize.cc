// Ops that dequantize codes, and the affine quantizer, which has a zero point. All compute in
// float, like fake_quantize.cc.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/int8_runtime.h"
#include "runtime/reference/kernels/quantizing.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X of the type of its scale.
Array Numbers(const Array& x, const Array& scale) {
  Array out = x;
  out.dtype = scale.dtype;
  return out;
}

// Also dequantize_abs_max, whose codes are held as integers.
absl::Status DequantizeMaxAbs(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  const float scale = static_cast<float>(op.Input("Scale")[0]);
  const float max_range = static_cast<float>(op.Float("max_range"));
  Array out = Numbers(op.Input("X"), op.Input("Scale"));
  for (double& x : out.values) x = static_cast<float>(x) * scale / max_range;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// X with channels on an axis. Error: it has no such axis, or another number of channels.
absl::StatusOr<AxisView> ChannelsOn(const OpRun& op, int64_t axis, int64_t channels) {
  const Dims& dims = op.Input("X").dims;
  if (axis >= 0 && axis < static_cast<int64_t>(dims.size()) && dims[axis] == channels) {
    return ViewAround(dims, static_cast<int>(axis));
  }
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(dims), " and there are ",
                                                 channels, " scales for axis ", axis,
                                                 "; want as many channels on it"));
}

absl::StatusOr<float> LargestCodeOf(int64_t bits) {
  RETURN_IF_ERROR(CheckBits("quant_bits", bits));
  return static_cast<float>(LargestCode(static_cast<int>(bits)));
}

// Scales holds those of a weight's channels along quant_axis; or, for a product, those of the
// weight's channels and the one of the activation, with the channels on axis 1 or beyond.
absl::Status ChannelWiseDequantize(OpRun& op) {
  const std::vector<const Array*> scales = op.Inputs("Scales");
  const std::vector<int64_t> bits = op.Ints("quant_bits");
  if (scales.empty() || scales.size() > 2 || bits.size() < scales.size() ||
      (scales.size() == 2 && scales[1]->size() != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scales has ", scales.size(), " arguments and quant_bits ", bits.size(),
                     " values; want the channels' scales, and one of an activation or none"));
  }
  const bool is_product = scales.size() == 2;
  const int64_t axis =
      is_product ? std::max<int64_t>(op.Int("x_num_col_dims"), 1) : op.Int("quant_axis");
  ASSIGN_OR_RETURN(const AxisView view, ChannelsOn(op, axis, scales[0]->size()));
  ASSIGN_OR_RETURN(float max_range, LargestCodeOf(bits[0]));
  float activation = 1;
  if (is_product) {
    ASSIGN_OR_RETURN(const float of_activation, LargestCodeOf(bits[1]));
    max_range *= of_activation;
    activation = static_cast<float>((*scales[1])[0]);
  }
  Array out = Numbers(op.Input("X"), *scales[0]);
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) {
      double& x = out[start + c * stride];
      const float scaled = static_cast<float>(x) * static_cast<float>((*scales[0])[c]);
      x = scaled * activation / max_range;
    }
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Y = X * Scale / bin, of Scale's type; only_observer: the values pass as they are.
absl::Status DequantizeLinear(OpRun& op) {
  const Array& scale = op.Input("Scale");
  Array y = Numbers(op.Input("X"), scale);
  if (op.Bool("only_observer")) {
    op.SetOutput("Y", std::move(y));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int bits, BitsOf(op));
  AxisView view{1, 1, y.size()};
  if (op.Int("quant_axis") == -1) {
    RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  } else {
    ASSIGN_OR_RETURN(view, ChannelsOn(op, op.Int("quant_axis"), scale.size()));
  }
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) {
      double& x = y[start + c * stride];
      x = DequantizeOne(static_cast<float>(x), static_cast<float>(scale[c]), LargestCode(bits));
    }
  });
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

// Looks INT8 codes up in Dict; a negative code x is -Dict[x + 128].
absl::Status DequantizeLog(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Dict", kCodesInByte / 2));
  const Array& dict = op.Input("Dict");
  const CodeRange codes = CodesOfByte(/*is_unsigned=*/false);
  Array out = Numbers(op.Input("X"), dict);
  for (double& x : out.values) {
    const int64_t code = ToInt(x);
    if (!IsCode(code, codes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has ", code, "; want ", codes.smallest, " to ", codes.largest));
    }
    x = code < 0 ? -dict[code + kCodesInByte / 2] : dict[code];
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// code = clamp(round(x * (1 / step)) + zero_point), of `bits` bits.
struct Affine {
  float step;
  float zero_point;
};

struct Codes {
  float lowest;
  float largest;
};

// The step and the zero point of a range that contains 0; if it is too small for a step that is a
// normal float, the step is 1. The range may exceed the largest float; the step does not.
Affine AffineOf(float min, float max, const Codes& codes) {
  const float count = codes.largest - codes.lowest;
  float step = (max - min) / count;
  if (std::isinf(step)) step = max / count - min / count;
  if (!(step >= std::numeric_limits<float>::min())) step = 1;
  const float zero_point = RoundHalfToEven(codes.lowest - min / step);
  return {step, std::min(std::max(zero_point, codes.lowest), codes.largest)};
}

// Observes the finite values: moving averages of the smallest and of the largest, widened to 0.
absl::StatusOr<Affine> FollowMinMax(OpRun& op, const Codes& codes) {
  ASSIGN_OR_RETURN(const float count_before, NumberIn(op, "InState"));
  ASSIGN_OR_RETURN(const float min_before, NumberIn(op, "InAccumMin"));
  ASSIGN_OR_RETURN(const float max_before, NumberIn(op, "InAccumMax"));
  float smallest = 0;
  float largest = 0;
  for (const double x : op.Input("X").values) {
    if (!std::isfinite(x)) continue;
    smallest = std::min(smallest, static_cast<float>(x));
    largest = std::max(largest, static_cast<float>(x));
  }
  const float rate = static_cast<float>(op.Float("moving_rate"));
  const float count = rate * count_before + 1;
  const float min = rate * min_before + smallest;
  const float max = rate * max_before + largest;
  const Affine affine = AffineOf(min / count, max / count, codes);
  op.SetOutput("OutState", OneNumber(count));
  op.SetOutput("OutAccumMin", OneNumber(min));
  op.SetOutput("OutAccumMax", OneNumber(max));
  op.SetOutput("OutScale", OneNumber(affine.step));
  op.SetOutput("OutZeroPoint", OneNumber(affine.zero_point));
  return affine;
}

// An op of our own, and its inverse. The code of NaN is the zero point.
absl::Status MinMaxQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const int bits, BitsOf(op));
  const float count = std::ldexp(1.0f, bits);
  const float lowest = op.Bool("unsigned_codes") ? 0 : -count / 2;
  const Codes codes{lowest, lowest + count - 1};
  RETURN_IF_ERROR(op.CheckSize("InScale", 1));
  RETURN_IF_ERROR(op.CheckSize("InZeroPoint", 1));
  Affine affine{static_cast<float>(op.Input("InScale")[0]),
                static_cast<float>(op.Input("InZeroPoint")[0])};
  if (!op.Bool("is_test")) {
    ASSIGN_OR_RETURN(affine, FollowMinMax(op, codes));
  }
  const float zero_point = affine.zero_point;
  if (!(zero_point >= codes.lowest && zero_point <= codes.largest) ||
      zero_point != std::round(zero_point)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the zero point is ", zero_point, "; want a code, ", codes.lowest, " to ", codes.largest));
  }
  const float multiplier = 1 / affine.step;
  Array out = op.Input("X");
  for (double& x : out.values) {
    const float steps = static_cast<float>(x) * multiplier;
    const float rounded = op.Int("round_type") == 0 ? RoundHalfToEven(steps) : std::round(steps);
    const float code = rounded + zero_point;
    x = std::isnan(code) ? zero_point : std::min(std::max(code, codes.lowest), codes.largest);
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status AffineDequantize(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  RETURN_IF_ERROR(op.CheckSize("ZeroPoint", 1));
  const float step = static_cast<float>(op.Input("Scale")[0]);
  const float zero_point = static_cast<float>(op.Input("ZeroPoint")[0]);
  Array out = Numbers(op.Input("X"), op.Input("Scale"));
  for (double& x : out.values) x = (static_cast<float>(x) - zero_point) * step;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// By oneDNN, or under paddle-mobile's name (int8_runtime.cc).
absl::Status Dequantize(OpRun& op) {
  if (op.FindInput("X") == nullptr) return DequantizeForOneDnn(op);
  if (op.InputCount("Scales") > 0) return ChannelWiseDequantize(op);
  if (op.FindInput("Scale") == nullptr) {
    return absl::InvalidArgumentError("X has no scale; want Scale or Scales");
  }
  return DequantizeMaxAbs(op);
}

}  // namespace

Kernels FakeDequantizeKernels() {
  return {
      {"fake_dequantize_max_abs", DequantizeMaxAbs},
      {"dequantize", Dequantize},
      {"dequantize_abs_max", DequantizeMaxAbs},
      {"fake_channel_wise_dequantize_max_abs", ChannelWiseDequantize},
      {"dequantize_linear", DequantizeLinear},
      {"dequantize_log", DequantizeLog},
      {"fake_quantize_moving_average_min_max", MinMaxQuantize},
      {"fake_dequantize_affine", AffineDequantize},
  };
}

}  // namespace fixpoint::reference
