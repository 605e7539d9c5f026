// Ops that simulate quantization: codes of floats, and observers of their ranges.
//
// These compute in float, in the reference's order of operations, because a code near a tie depends
// on the last bit of the range. ops/quant_math.h defines how a value becomes a code. "Range" is
// what the reference calls scale: the largest absolute value, for which the largest code stands.

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/power_of_two_range.h"
#include "ops/quant_math.h"
#include "ops/stochastic_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/int8_runtime.h"
#include "runtime/reference/kernels/quantizing.h"
#include "runtime/reference/walk.h"
#include "runtime/rounding_chances.h"

namespace fixpoint::reference {
namespace {

std::vector<float> Floats(const Array& array) { return {array.values.begin(), array.values.end()}; }

// How codes are made.
struct Coding {
  CodeRange codes;
  // Whether the result is the float that the code stands for, instead of the code.
  bool dequantizes = false;
  // 1.x multiplies the code by the step, 2.x by the range and then divides.
  bool by_step = false;
};

absl::StatusOr<Coding> CodingOf(const OpRun& op, bool dequantizes) {
  ASSIGN_OR_RETURN(const int bits, BitsOf(op));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOf(op));
  return Coding{SymmetricCodes(bits, rounding), dequantizes, op.era() == Era::kFluid};
}

float Coded(double value, float range, const Coding& coding) {
  const float x = static_cast<float>(value);
  const float code = QuantizeOne(x, range, coding.codes);
  if (!coding.dequantizes) return code;
  if (coding.by_step) return range / static_cast<float>(coding.codes.largest) * code;
  return DequantizeOne(code, range, coding.codes.largest);
}

Array CodedTensor(const Array& x, float range, const Coding& coding) {
  Array out = x;
  for (double& element : out.values) element = Coded(element, range, coding);
  return out;
}

// A range that an op found, widened if the op says so. REQUIRES: BitsOf has checked the bits.
float Widened(const OpRun& op, float range) {
  if (!op.Bool(kPowerOfTwoStepsAttr)) return range;
  return PowerOfTwoRange(range, LargestCode(static_cast<int>(op.Int("bit_length"))));
}

// X with the channels on an axis of the attribute quant_axis.
absl::StatusOr<AxisView> ChannelView(const OpRun& op) {
  const Dims& dims = op.Input("X").dims;
  const int64_t axis = op.Int("quant_axis");
  if (axis < 0 || axis > 1 || axis >= static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                   DimsText(dims), "; want 0 or 1, an axis of X"));
  }
  return ViewAround(dims, static_cast<int>(axis));
}

std::vector<float> ChannelRanges(const OpRun& op, const AxisView& view) {
  const Array& x = op.Input("X");
  std::vector<float> ranges;
  for (int64_t c = 0; c < view.size; ++c) {
    std::vector<float> channel;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k) {
        channel.push_back(static_cast<float>(x[view.At(o, c, k)]));
      }
    }
    ranges.push_back(Widened(op, AbsMax(channel)));
  }
  return ranges;
}

Array CodedChannels(const Array& x, const AxisView& view, const std::vector<float>& ranges,
                    const Coding& coding) {
  Array out = x;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) {
      double& element = out[start + c * stride];
      element = Coded(element, ranges[c], coding);
    }
  });
  return out;
}

Array RangeVector(const std::vector<float>& ranges) {
  Array array(VarType::FP32, Dims{static_cast<int64_t>(ranges.size())});
  std::copy(ranges.begin(), ranges.end(), array.values.begin());
  return array;
}

absl::Status AbsMaxQuantize(OpRun& op, bool dequantizes) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, dequantizes));
  const Array& x = op.Input("X");
  const float range = Widened(op, AbsMax(Floats(x)));
  op.SetOutput("Out", CodedTensor(x, range, coding));
  op.SetOutput("OutScale", OneNumber(range));
  return absl::OkStatus();
}

// Under paddle-mobile's name (int8_runtime.cc): at InScale, or at the range of X.
absl::Status MobileQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/false));
  const Array& x = op.Input("X");
  float range = AbsMax(Floats(x));
  if (op.FindInput("InScale") != nullptr) {
    if (!op.Bool("is_test")) {
      return absl::UnimplementedError("is_test is false; want a program for inference");
    }
    ASSIGN_OR_RETURN(range, NumberIn(op, "InScale"));
  }
  op.SetOutput("Out", CodedTensor(x, range, coding));
  op.SetOutput("OutScale", OneNumber(range));
  return absl::OkStatus();
}

// The largest absolute values of the last steps, and the number of this one.
struct Window {
  Array values;
  int64_t step;
};

// What OutScales holds, which is read and written in place. Error: it is not of window_size, or the
// steps, which Iter counts, have not come to `first_step`.
absl::StatusOr<Window> WindowOf(const OpRun& op, int64_t first_step) {
  ASSIGN_OR_RETURN(const float iteration, NumberIn(op, "Iter"));
  ASSIGN_OR_RETURN(const Array* stored, op.FindBefore("OutScales"));
  const int64_t window_size = op.Int("window_size");
  if (stored != nullptr && window_size >= 1 && stored->size() == window_size &&
      iteration >= first_step) {
    return Window{*stored, ToInt((*op.FindInput("Iter"))[0])};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("window_size is ", window_size, ", Iter ", iteration, " and OutScales ",
                   stored != nullptr ? DimsText(stored->dims) : "has no value",
                   "; want a window of that size, and steps from ", first_step, " on"));
}

// The largest of the window, by the reference's rule: if the value that leaves the window is the
// range, the range is found anew.
absl::StatusOr<float> NextWindowRange(OpRun& op, float range, float current) {
  ASSIGN_OR_RETURN(Window window, WindowOf(op, /*first_step=*/0));
  double& place = window.values[window.step % window.values.size()];
  const float removed = static_cast<float>(place);
  place = current;
  if (range < current) {
    range = current;
  } else if (std::fabs(removed - range) < 1e-6f) {
    std::vector<float> seen = Floats(window.values);
    seen.resize(std::min(window.step, window.values.size()));
    range = AbsMax(seen);
  }
  op.SetOutput("OutScales", std::move(window.values));
  return range;
}

absl::Status RangeAbsMaxQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/false));
  ASSIGN_OR_RETURN(float range, NumberIn(op, "InScale"));
  const Array& x = op.Input("X");
  if (!op.Bool("is_test")) {
    ASSIGN_OR_RETURN(range, NextWindowRange(op, range, AbsMax(Floats(x))));
    op.SetOutput("OutScale", OneNumber(range));
  }
  op.SetOutput("Out", CodedTensor(x, range, coding));
  return absl::OkStatus();
}

// The moving average of `current`: state = rate * state + 1, accum = rate * accum + current, and
// their quotient is the range. Writes all three.
absl::StatusOr<float> FollowMovingAverage(OpRun& op, float current) {
  const float rate = static_cast<float>(op.Float("moving_rate"));
  ASSIGN_OR_RETURN(float state, NumberIn(op, "InState"));
  ASSIGN_OR_RETURN(float accum, NumberIn(op, "InAccum"));
  state = rate * state + 1.0f;
  accum = rate * accum + current;
  op.SetOutput("OutState", OneNumber(state));
  op.SetOutput("OutAccum", OneNumber(accum));
  const float range = Widened(op, accum / state);
  op.SetOutput("OutScale", OneNumber(range));
  return range;
}

absl::Status MovingAverageQuantize(OpRun& op, bool dequantizes) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, dequantizes));
  ASSIGN_OR_RETURN(float range, NumberIn(op, "InScale"));
  const Array& x = op.Input("X");
  if (!op.Bool("is_test")) {
    ASSIGN_OR_RETURN(range, FollowMovingAverage(op, AbsMax(Floats(x))));
  }
  op.SetOutput("Out", CodedTensor(x, range, coding));
  return absl::OkStatus();
}

absl::Status MovingAverageObserve(OpRun& op) {
  RETURN_IF_ERROR(BitsOf(op).status());
  const Array& x = op.Input("X");
  if (!op.Bool("is_test")) {
    const absl::StatusOr<float> range = FollowMovingAverage(op, AbsMax(Floats(x)));
    if (!range.ok()) return range.status();
  }
  op.SetOutput("Out", x);
  return absl::OkStatus();
}

// In inference OutScale is not written but read.
absl::Status ChannelWiseQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/false));
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  const Array& x = op.Input("X");
  std::vector<float> ranges = ChannelRanges(op, view);
  if (op.Bool("is_test")) {
    ASSIGN_OR_RETURN(const Array* stored, op.FindBefore("OutScale"));
    if (stored == nullptr || stored->size() != view.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("is_test is true and OutScale ",
                       stored != nullptr ? DimsText(stored->dims) : "has no value", "; want ",
                       view.size, " scales"));
    }
    ranges = Floats(*stored);
  } else {
    op.SetOutput("OutScale", RangeVector(ranges));
  }
  op.SetOutput("Out", CodedChannels(x, view, ranges, coding));
  return absl::OkStatus();
}

absl::Status ChannelWiseQuantizeDequantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/true));
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  const std::vector<float> ranges = ChannelRanges(op, view);
  op.SetOutput("Out", CodedChannels(op.Input("X"), view, ranges, coding));
  op.SetOutput("OutScale", RangeVector(ranges));
  return absl::OkStatus();
}

// quant_axis -1: by the moving average, in inference by Scale [1]; else by each channel's own
// range, in inference by Scale [C]. only_observer: the values pass as they are.
absl::Status QuantizeLinear(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/false));
  const Array& x = op.Input("X");
  const bool is_test = op.Bool("is_test");
  std::vector<float> ranges = Floats(op.Input("Scale"));
  std::optional<AxisView> view;
  if (op.Int("quant_axis") == -1) {
    RETURN_IF_ERROR(op.CheckSize("Scale", 1));
    if (!is_test) {
      ASSIGN_OR_RETURN(ranges[0], FollowMovingAverage(op, AbsMax(Floats(x))));
    }
  } else {
    ASSIGN_OR_RETURN(view, ChannelView(op));
    if (!is_test) {
      ranges = ChannelRanges(op, *view);
      op.SetOutput("OutScale", RangeVector(ranges));
    } else {
      RETURN_IF_ERROR(op.CheckSize("Scale", view->size));
    }
  }
  if (op.Bool("only_observer")) {
    op.SetOutput("Y", x);
  } else {
    op.SetOutput(
        "Y", view ? CodedChannels(x, *view, ranges, coding) : CodedTensor(x, ranges[0], coding));
  }
  return absl::OkStatus();
}

// An op of our own: the mean of the largest absolute values of the last window_size steps. Step t,
// counted from 1, is kept at place (t - 1) mod window_size.
absl::Status WindowMeanQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Coding coding, CodingOf(op, /*dequantizes=*/false));
  ASSIGN_OR_RETURN(float range, NumberIn(op, "InScale"));
  const Array& x = op.Input("X");
  if (!op.Bool("is_test")) {
    ASSIGN_OR_RETURN(Window window, WindowOf(op, /*first_step=*/1));
    window.values[(window.step - 1) % window.values.size()] = AbsMax(Floats(x));
    const int64_t seen = std::min(window.step, window.values.size());
    double sum = 0;
    for (int64_t i = 0; i < seen; ++i) sum += window.values[i];
    range = Widened(op, static_cast<float>(sum / static_cast<double>(seen)));
    op.SetOutput("OutScales", std::move(window.values));
    op.SetOutput("OutScale", OneNumber(range));
  }
  op.SetOutput("Out", CodedTensor(x, range, coding));
  return absl::OkStatus();
}

// The place of element i where the second of four dimensions is moved to the end.
int64_t PlaceWithChannelsLast(const Dims& dims, int64_t i) {
  if (dims.size() != 4) return i;
  const int64_t pixels = dims[2] * dims[3];
  const int64_t image = i / (dims[1] * pixels);
  const int64_t channel = i / pixels % dims[1];
  return (image * pixels + i % pixels) * dims[1] + channel;
}

// An op of our own.
absl::Status StochasticAbsMaxQuantize(OpRun& op) {
  ASSIGN_OR_RETURN(const int bits, BitsOf(op));
  const RandomStream random = op.Random(op.Int("seed"));
  const Array& x = op.Input("X");
  const float range = AbsMax(Floats(x));
  const int32_t largest = LargestCode(bits);
  const float multiplier = static_cast<float>(largest) * InverseRange(range);
  Array out = x;
  for (int64_t i = 0; i < x.size(); ++i) {
    const uint32_t chance = ChanceOf(random, PlaceWithChannelsLast(x.dims, i));
    const float code = StochasticCode(multiplier * static_cast<float>(x[i]),
                                      static_cast<float>(chance), static_cast<float>(largest));
    out[i] = DequantizeOne(code, range, largest);
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("OutScale", OneNumber(range));
  return absl::OkStatus();
}

// The straight-through estimator: rounding has the gradient 1, and so has clipping.
absl::Status PassGradient(OpRun& op) {
  op.SetOutput("X@GRAD", op.Input("Out@GRAD"));
  return absl::OkStatus();
}

}  // namespace

Kernels FakeQuantizeKernels() {
  return {
      {"fake_quantize_abs_max", [](OpRun& op) { return AbsMaxQuantize(op, false); }},
      {"fake_quantize_dequantize_abs_max", [](OpRun& op) { return AbsMaxQuantize(op, true); }},
      {"fake_quantize_range_abs_max", RangeAbsMaxQuantize},
      {"quantize",
       [](OpRun& op) {
         return op.FindInput("X") != nullptr ? MobileQuantize(op) : QuantizeForOneDnn(op);
       }},
      {"fake_quantize_moving_average_abs_max",
       [](OpRun& op) { return MovingAverageQuantize(op, false); }},
      {"fake_quantize_dequantize_moving_average_abs_max",
       [](OpRun& op) { return MovingAverageQuantize(op, true); }},
      {"moving_average_abs_max_scale", MovingAverageObserve},
      {"fake_channel_wise_quantize_abs_max", ChannelWiseQuantize},
      {"fake_channel_wise_quantize_dequantize_abs_max", ChannelWiseQuantizeDequantize},
      {"quantize_linear", QuantizeLinear},
      {"fake_quantize_window_mean_abs_max", WindowMeanQuantize},
      {kQuantizeStochastically, StochasticAbsMaxQuantize},
      {"fake_quantize_dequantize_grad", PassGradient},
      {"straight_through_estimator_grad", PassGradient},
      {"stright_throuth_estimator_grad", PassGradient},
  };
}

}  // namespace fixpoint::reference
