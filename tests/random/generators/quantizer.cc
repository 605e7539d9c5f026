// Ops that quantize and dequantize.

#include <algorithm>
#include <cmath>

#include "tests/random/generators.h"
#include "tests/random/generators/epilogues.h"

namespace fixpoint::random_cases {
namespace {

int SomeBits(CaseMaker& c) {
  return c.OneIn(2) ? 8 : c.OneIn(4) ? c.Between(9, 16) : c.Between(2, 8);
}

int LargestCode(int bits) { return (1 << (bits - 1)) - 1; }

// "bit_length=8", and how ties are rounded where the era says it.
std::string BitsText(CaseMaker& c) {
  return absl::StrCat(
      "bit_length=", SomeBits(c),
      c.is_2x() && c.OneIn(2) ? absl::StrCat(", round_type=", c.Between(0, 1)) : "");
}

// Of an op that finds a range.
std::string WideningText(CaseMaker& c) { return c.OneIn(3) ? ", power_of_two_steps=true" : ""; }

std::string SomeState(CaseMaker& c, const Dims& dims, float low, float high) {
  const std::string state = c.Numbers(dims, low, high);
  c.Persist(state);
  return state;
}

// Numbers whose ties are common, because the range is often that of the largest code.
std::string ToQuantize(CaseMaker& c, const Dims& dims) {
  if (!c.OneIn(4)) return c.WideNumbers(dims, 9);
  std::vector<float> values(SizeOf(dims));
  for (float& value : values) value = static_cast<float>(c.Between(-254, 254)) / 2;
  return c.Floats(dims, values);
}

Generator AbsMax(const std::string& type) {
  return [type](CaseMaker& c) {
    c.Op(type, "(X=", ToQuantize(c, c.SomeDims(1, 4)), ") -> (Out=out, OutScale=scale) {",
         BitsText(c), WideningText(c), "}");
    c.Exact();
  };
}

void Stochastic(CaseMaker& c) {
  c.Op("fake_quantize_dequantize_stochastic_abs_max(X=", ToQuantize(c, c.SomeDims(1, 4)),
       ") -> (Out=out, OutScale=scale) {bit_length=", c.Between(2, 8), ", seed=", c.Between(0, 2),
       "}");
  c.Exact();
}

Generator ChannelWise(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(2, 4);
    const int axis = c.is_2x() ? c.Between(0, 1) : 0;
    const std::string x = ToQuantize(c, dims);
    const bool reads_scale =
        type == "fake_channel_wise_quantize_abs_max" && c.is_2x() && c.OneIn(3);
    const std::string scale = reads_scale ? SomeState(c, {dims[axis]}, 0.1f, 3) : "scale";
    c.Op(type, "(X=", x, ") -> (Out=out, OutScale=", scale, ") {", BitsText(c),
         c.is_2x() ? absl::StrCat(", quant_axis=", axis) : "", reads_scale ? ", is_test=true" : "",
         WideningText(c), "}");
    c.Exact();
  };
}

Generator MovingAverage(const std::string& type) {
  return [type](CaseMaker& c) {
    const bool observes = type == "moving_average_abs_max_scale";
    const std::string x = ToQuantize(c, c.SomeDims(1, 4));
    const std::string scale = SomeState(c, {1}, 0.1f, 3);
    const std::string state = SomeState(c, {1}, 1, 5);
    const std::string accum = SomeState(c, {1}, 0.1f, 5);
    c.Op(type, "(X=", x, observes ? "" : absl::StrCat(", InScale=", scale), ", InState=", state,
         ", InAccum=", accum, ") -> (Out=out, OutScale=", scale, ", OutState=", state,
         ", OutAccum=", accum, ") {moving_rate=", FloatText(c.Between(0.5f, 0.99f)),
         ", is_test=", BoolText(c.OneIn(3)), ", ",
         observes ? absl::StrCat("bit_length=", SomeBits(c)) : BitsText(c), WideningText(c), "}");
    c.Exact();
  };
}

Generator Window(const std::string& type) {
  return [type](CaseMaker& c) {
    const int64_t size = c.Between(1, 5);
    const std::string x = ToQuantize(c, c.SomeDims(1, 4));
    const std::string scale = SomeState(c, {1}, 0.1f, 3);
    const std::string scales = SomeState(c, {size}, 0.1f, 3);
    const std::string step = c.Integers(VarType::INT64, {1}, 0, 9);
    c.Op(type, "(X=", x, ", InScale=", scale, ", Iter=", step, ") -> (Out=out, OutScale=", scale,
         ", OutScales=", scales, ") {window_size=", size, ", is_test=", BoolText(c.OneIn(4)), ", ",
         BitsText(c), type == "fake_quantize_window_mean_abs_max" ? WideningText(c) : "", "}");
    c.Exact();
  };
}

std::string CodesAsNumbers(CaseMaker& c, const Dims& dims, int largest) {
  std::vector<float> values(SizeOf(dims));
  for (float& value : values) value = static_cast<float>(c.Between(-largest, largest));
  return c.Floats(dims, values);
}

void MinMax(CaseMaker& c) {
  const std::string x = ToQuantize(c, c.SomeDims(1, 4));
  const bool is_unsigned = c.OneIn(2);
  const int bits = SomeBits(c);
  const int lowest = is_unsigned ? 0 : -(1 << (bits - 1));
  const std::string scale = SomeState(c, {1}, 0.01f, 0.1f);
  const std::string zero_point =
      c.Floats({1}, {static_cast<float>(c.Between(lowest, lowest + (1 << bits) - 1))});
  c.Persist(zero_point);
  const std::string state = SomeState(c, {1}, 1, 5);
  const std::string low = SomeState(c, {1}, -5, 0);
  const std::string high = SomeState(c, {1}, 0, 5);
  c.Op("fake_quantize_moving_average_min_max(X=", x, ", InScale=", scale,
       ", InZeroPoint=", zero_point, ", InState=", state, ", InAccumMin=", low,
       ", InAccumMax=", high, ") -> (Out=out, OutScale=", scale, ", OutZeroPoint=", zero_point,
       ", OutState=", state, ", OutAccumMin=", low, ", OutAccumMax=", high, ") {bit_length=", bits,
       ", unsigned_codes=", BoolText(is_unsigned),
       ", moving_rate=", FloatText(c.Between(0.5f, 0.99f)), ", is_test=", BoolText(c.OneIn(3)),
       "}");
  c.Exact();
}

void DequantizeAffine(CaseMaker& c) {
  const std::string x = CodesAsNumbers(c, c.SomeDims(1, 4), 127);
  const std::string scale = c.Numbers({1}, 0.01f, 1);
  const std::string zero_point = c.Floats({1}, {static_cast<float>(c.Between(-128, 127))});
  c.Op("fake_dequantize_affine(X=", x, ", Scale=", scale, ", ZeroPoint=", zero_point,
       ") -> (Out=out)");
  c.Exact();
}

void RowWiseQuantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  c.Op("fake_row_wise_quantize_min_max(X=", ToQuantize(c, dims),
       ") -> (Out=out, OutScale=scale, OutZeroPoint=zero) {quant_axis=", c.Between(0, 1), ", ",
       BitsText(c), "}");
  c.Exact();
}

void RowWiseDequantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(0, 1);
  const std::string x =
      c.OneIn(2) ? c.Codes(VarType::INT8, dims, -128, 127) : CodesAsNumbers(c, dims, 127);
  const std::string scale = c.Numbers({dims[axis]}, 0.01f, 1);
  const std::string zero = c.Integers(VarType::INT32, {dims[axis]}, -128, 127);
  c.Op("fake_row_wise_dequantize(X=", x, ", Scale=", scale, ", ZeroPoint=", zero,
       ") -> (Out=out) {quant_axis=", axis, "}");
  c.Exact();
}

// The steps of an op of a bias [channels]: its inputs but X, its output and its attributes, with
// `others` after them.
std::string StepsOfBias(CaseMaker& c, int64_t channels, absl::string_view others = "") {
  const std::string range = c.Numbers({1}, 0.01f, 9);
  if (c.OneIn(4)) {
    return absl::StrCat(", InputScale=", range,
                        ") -> (Out=out) {input_largest_code=", LargestCode(c.Between(2, 16)),
                        ", weight_largest_code=1", others, "}");
  }
  const std::string ranges = c.Numbers({c.OneIn(2) ? 1 : channels}, 0.01f, 2);
  return absl::StrCat(", InputScale=", range, ", WeightScale=", ranges,
                      ") -> (Out=out) {input_largest_code=", LargestCode(c.Between(2, 8)),
                      ", weight_largest_code=", LargestCode(c.Between(2, 8)), others, "}");
}

void QuantizeBias(CaseMaker& c) {
  const int64_t channels = c.Between(1, 40);
  const std::string x = c.WideNumbers({channels}, 9);
  c.Op("fake_quantize_dequantize_bias(X=", x,
       StepsOfBias(c, channels, c.OneIn(2) ? ", bit_length=16" : ""));
  c.Exact();
}

void DequantizeBias(CaseMaker& c) {
  const int64_t channels = c.Between(1, 40);
  const std::string x = c.OneIn(3) ? c.Integers(VarType::INT16, {channels}, INT16_MIN, INT16_MAX)
                                   : c.Integers(VarType::INT32, {channels}, -(1 << 24), 1 << 24);
  c.Op("fake_dequantize_bias(X=", x, StepsOfBias(c, channels));
  c.Exact();
}

void Requantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.Between(0, static_cast<int>(dims.size()) - 1);
  const std::string x = c.WideNumbers(dims, 9);
  const std::string range = c.Numbers({1}, 0.01f, 9);
  const std::string ranges = c.Numbers({c.OneIn(2) ? 1 : dims[axis]}, 0.01f, 2);
  const std::string codes = c.Numbers({1}, 0.01f, 900);
  const int bits = c.OneOf({16, 32});
  c.Op("fake_requantize(X=", x, ", InputScale=", range, ", WeightScale=", ranges,
       ", OutputScale=", codes, ") -> (Out=out) {input_largest_code=", LargestCode(c.Between(2, 8)),
       ", weight_largest_code=", LargestCode(c.Between(2, 8)),
       ", output_largest_code=", LargestCode(c.Between(2, 8)), ", channel_axis=", axis,
       ", multiplier_bits=", bits, ", roundings=", bits == 16 ? 1 : c.Between(1, 2), "}");
  c.Exact();
}

Generator DequantizeMaxAbs(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const int largest = LargestCode(c.Between(2, 8));
    const bool is_integer = type == "dequantize_abs_max";
    const std::string x = is_integer ? c.Codes(VarType::INT8, dims, -largest - 1, largest)
                                     : CodesAsNumbers(c, dims, largest);
    c.Op(type, "(X=", x, ", Scale=", c.Numbers({1}, 0.01f, 9),
         ") -> (Out=out) {max_range=", largest, ".0}");
    c.Exact();
  };
}

void DequantizeChannelWise(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int bits = c.Between(2, 8);
  const int axis = c.is_2x() ? c.Between(0, 1) : 0;
  const std::string x = CodesAsNumbers(c, dims, LargestCode(bits));
  if (c.OneIn(2)) {
    c.Op("fake_channel_wise_dequantize_max_abs(X=", x,
         ", Scales=", c.Numbers({dims[axis]}, 0.01f, 9), ") -> (Out=out) {quant_bits=[", bits, "]",
         c.is_2x() ? absl::StrCat(", quant_axis=", axis) : "", "}");
  } else {
    const std::string weights = c.Numbers({dims[1]}, 0.01f, 9);
    c.Op("fake_channel_wise_dequantize_max_abs(X=", x, ", Scales=[", weights, ", ",
         c.Numbers({1}, 0.01f, 9), "]) -> (Out=out) {quant_bits=[", bits, ", ", c.Between(2, 8),
         "]}");
  }
}

void DequantizeLog(CaseMaker& c) {
  const std::string x = c.Codes(VarType::INT8, c.SomeDims(1, 4), -128, 127);
  c.Op("dequantize_log(X=", x, ", Dict=", c.Numbers({128}), ") -> (Out=out)");
  c.Exact();
}

// quantize_linear of numbers, by a scale, by the moving average, or by the channels.
void QuantizeLinear(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(-1, 1);
  const std::string x = ToQuantize(c, dims);
  const std::string scale = SomeState(c, {axis < 0 ? 1 : dims[axis]}, 0.1f, 3);
  const std::string zero = c.Floats({1}, {0});
  const std::string attributes =
      absl::StrCat("quant_axis=", axis, ", ", BitsText(c), WideningText(c));
  if (c.OneIn(2)) {
    c.Op("quantize_linear(X=", x, ", Scale=", scale, ", ZeroPoint=", zero, ") -> (Y=out) {",
         attributes, "}");
  } else {
    const std::string state = SomeState(c, {1}, 1, 5);
    const std::string accum = SomeState(c, {1}, 0.1f, 5);
    const std::string in = axis < 0 ? absl::StrCat(", InState=", state, ", InAccum=", accum) : "";
    const std::string out =
        axis < 0 ? absl::StrCat(", OutState=", state, ", OutAccum=", accum) : "";
    c.Op("quantize_linear(X=", x, ", Scale=", scale, ", ZeroPoint=", zero, in,
         ") -> (Y=out, OutScale=", scale, out, ") {is_test=false, ", attributes, "}");
  }
  c.Exact();
}

void DequantizeLinear(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(-1, 1);
  const int bits = c.Between(2, 8);
  const int largest = LargestCode(bits);
  const std::string x = c.OneIn(2) ? c.Codes(VarType::INT8, dims, -largest, largest)
                                   : CodesAsNumbers(c, dims, largest);
  const std::string scale = c.Numbers({axis < 0 ? 1 : dims[axis]}, 0.1f, 3);
  c.Op("dequantize_linear(X=", x, ", Scale=", scale, ", ZeroPoint=", c.Floats({1}, {0}),
       ") -> (Y=out) {quant_axis=", axis, ", bit_length=", bits, "}");
  c.Exact();
}

void QuantizeAtRange(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(-1, 1);
  const std::string x = c.Numbers(dims);
  const std::string range = SomeState(c, {axis < 0 ? 1 : dims[axis]}, 0.1f, 3);
  c.Op("fake_quantize_dequantize_at_range(X=", x, ", InScale=", range,
       ") -> (Out=out) {bit_length=", SomeBits(c), ", round_type=", c.Between(0, 1),
       ", quant_axis=", axis, "}");
}

void QuantizeAffine(CaseMaker& c) {
  const std::string x = c.Numbers(c.SomeDims(1, 4));
  const bool is_unsigned = c.OneIn(2);
  const int bits = SomeBits(c);
  const int lowest = is_unsigned ? 0 : -(1 << (bits - 1));
  const std::string step = SomeState(c, {1}, 0.01f, 0.1f);
  const std::string zero_point =
      c.Floats({1}, {static_cast<float>(c.Between(lowest, lowest + (1 << bits) - 1))});
  c.Op("fake_quantize_dequantize_affine(X=", x, ", InScale=", step, ", InZeroPoint=", zero_point,
       ") -> (Out=out) {bit_length=", bits, ", unsigned_codes=", BoolText(is_unsigned),
       ", round_type=", c.Between(0, 1), "}");
  // The gradient of the step is what rounding leaves of a number of steps.
  float largest = 0;
  for (const float value : c.Input(x).data<float>()) largest = std::max(largest, std::fabs(value));
  c.Magnitude(largest / c.Input(step).data<float>()[0]);
}

void ScaleGradient(CaseMaker& c) {
  c.Op("scale_gradient(X=", c.Numbers(c.SomeDims(1, 4)), ", Factor=", c.Numbers({1}),
       ") -> (Out=out)");
  c.Exact();
}

Generator PassGradient(const std::string& type) {
  return [type](CaseMaker& c) {
    if (type == "stright_throuth_estimator_grad") c.set_era(Era::kPaddle2);
    c.Op(type, "(Out@GRAD=", c.Numbers(c.SomeDims(1, 4)), ") -> (X@GRAD=out)");
    c.Exact();
  };
}

}  // namespace

Generators QuantizerGenerators() {
  Generators generators = {{"fake_quantize_moving_average_min_max", MinMax},
                           {"fake_dequantize_affine", DequantizeAffine},
                           {"fake_row_wise_quantize_min_max", RowWiseQuantize},
                           {"fake_row_wise_dequantize", RowWiseDequantize},
                           {"fake_quantize_dequantize_bias", QuantizeBias},
                           {"fake_dequantize_bias", DequantizeBias},
                           {"fake_requantize", Requantize},
                           {"fake_channel_wise_dequantize_max_abs", DequantizeChannelWise},
                           {"dequantize_log", DequantizeLog},
                           {"fake_quantize_dequantize_affine", QuantizeAffine},
                           {"fake_quantize_dequantize_at_range", QuantizeAtRange},
                           {"fake_quantize_dequantize_stochastic_abs_max", Stochastic},
                           {"scale_gradient", ScaleGradient},
                           {"quantize_linear", QuantizeLinear},
                           {"dequantize_linear", DequantizeLinear}};
  const auto add = [&](Generator (*make)(const std::string&), std::vector<std::string> types) {
    for (const std::string& type : types) generators.push_back({type, make(type)});
  };
  add(AbsMax, {"fake_quantize_abs_max", "fake_quantize_dequantize_abs_max"});
  add(ChannelWise,
      {"fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max"});
  add(MovingAverage,
      {"fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max",
       "moving_average_abs_max_scale"});
  add(Window, {"fake_quantize_range_abs_max", "fake_quantize_window_mean_abs_max"});
  add(DequantizeMaxAbs, {"fake_dequantize_max_abs", "dequantize_abs_max"});
  add(PassGradient, {"fake_quantize_dequantize_grad", "straight_through_estimator_grad",
                     "stright_throuth_estimator_grad"});
  return generators;
}

}  // namespace fixpoint::random_cases
