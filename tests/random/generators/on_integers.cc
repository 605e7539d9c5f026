// Simulated and portable programs: products of values that were quantized and dequantized, which
// the executor computes on the codes and the interpreter on the floats.

#include "tests/random/generators.h"
#include "tests/random/generators/after_product.h"
#include "tests/random/generators/broadcast.h"
#include "tests/random/generators/epilogues.h"
#include "tests/random/generators/matrices.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

// A value that is codes and a range.
struct Operand {
  std::string name;
  float largest = 0;  // of its numbers, at most
};

struct Activation {
  Operand operand;
  std::string range;     // the variable
  int largest_code = 0;  // that stands for the range
  bool is_affine = false;
};

// Simulated by the range of the tensor, stored as codes, or affine.
Activation SomeActivation(CaseMaker& c, const Dims& dims, const std::string& name = "activation") {
  Activation drawn;
  drawn.operand.name = name;
  const std::string codes = absl::StrCat(name, ".codes");
  const int bits = c.OneIn(3) ? c.Between(2, 8) : 8;
  const int largest = (1 << (bits - 1)) - 1;
  switch (c.Between(0, 3)) {
    case 0: {
      const bool is_unsigned = c.OneIn(2);
      const std::string x =
          is_unsigned ? c.Numbers(dims, 0.0f, 2.0f) : c.Numbers(dims, -2.0f, 2.0f);
      const std::string value = is_unsigned ? absl::StrCat(name, ".positive") : x;
      if (is_unsigned) c.Op("relu(X=", x, ") -> (Out=", value, ")");
      drawn.range = absl::StrCat(name, ".range");
      c.Op("fake_quantize_dequantize_abs_max(X=", value, ") -> (Out=", name,
           ", OutScale=", drawn.range, ") {bit_length=", is_unsigned ? bits + 1 : bits, "}");
      drawn.largest_code = is_unsigned ? 2 * largest + 1 : largest;
      drawn.operand.largest = 2;
      break;
    }
    case 1: {
      const bool is_unsigned = c.OneIn(2);
      const int last = (1 << bits) - 1;
      const int zero_point = is_unsigned ? c.Between(0, last) : c.Between(-largest - 1, largest);
      const std::string x = c.Numbers(dims, -2.0f, 2.0f);
      const std::string step = c.Floats({1}, {4.0f / static_cast<float>(last)});
      const std::string zero = c.Floats({1}, {static_cast<float>(zero_point)});
      c.Op("fake_quantize_moving_average_min_max(X=", x, ", InScale=", step, ", InZeroPoint=", zero,
           ") -> (Out=", codes, ", OutScale=", step, ", OutZeroPoint=", zero,
           ") {bit_length=", bits, ", is_test=true, unsigned_codes=", BoolText(is_unsigned), "}");
      c.Op("fake_dequantize_affine(X=", codes, ", Scale=", step, ", ZeroPoint=", zero,
           ") -> (Out=", name, ")");
      drawn.range = step;
      drawn.largest_code = 1;
      drawn.is_affine = true;
      drawn.operand.largest = 4.1f;
      break;
    }
    case 2: {
      const std::string x = c.Numbers(dims, -2.0f, 2.0f);
      drawn.range = c.Floats({1}, {c.Between(1.0f, 2.0f)});
      const std::string zero = c.Floats({1}, {0});
      c.Op("quantize_linear(X=", x, ", Scale=", drawn.range, ", ZeroPoint=", zero,
           ") -> (Y=", codes, ") {quant_axis=-1, round_type=0, bit_length=", bits, "}");
      c.Op("dequantize_linear(X=", codes, ", Scale=", drawn.range, ", ZeroPoint=", zero,
           ") -> (Y=", name, ") {quant_axis=-1, round_type=0, bit_length=", bits, "}");
      drawn.largest_code = largest;
      drawn.operand.largest = 2.1f;
      break;
    }
    default: {
      const std::string stored = c.Codes(VarType::INT8, dims, -largest, largest);
      drawn.range = c.Floats({1}, {c.Between(0.5f, 2.0f)});
      c.Op("dequantize_linear(X=", stored, ", Scale=", drawn.range,
           ", ZeroPoint=", c.Floats({1}, {0}), ") -> (Y=", name,
           ") {quant_axis=-1, bit_length=", bits, "}");
      drawn.largest_code = largest;
      drawn.operand.largest = 2;
    }
  }
  return drawn;
}

struct Weights {
  Operand operand;
  std::string ranges;
  int largest_code = 127;
};

// Codes with a range, or one for each channel along `axis`, or with a step and a zero point; or
// simulated ones. A transposed convolution in groups has ranges for the channels of a group.
Weights SomeWeights(CaseMaker& c, const Dims& dims, int axis) {
  Weights drawn;
  drawn.operand.name = "weights";
  drawn.ranges = "ranges";
  drawn.operand.largest = 2;
  if (c.OneIn(4)) {
    const Coding coding = SomeCoding(c, /*may_be_affine=*/true);
    const std::string codes = c.Codes(coding.dtype, dims, coding.low, coding.high);
    drawn.ranges = c.Numbers({1}, 0.001f, drawn.operand.largest / 256);
    drawn.largest_code = 1;
    c.Op("fake_dequantize_affine(X=", codes, ", Scale=", drawn.ranges,
         ", ZeroPoint=", c.Floats({1}, {static_cast<float>(coding.zero_point)}),
         ") -> (Out=weights)");
    return drawn;
  }
  const int bits = c.OneIn(3) ? c.Between(2, 8) : 8;
  drawn.largest_code = (1 << (bits - 1)) - 1;
  if (axis <= 1 && c.OneIn(3)) {
    c.set_era(Era::kPaddle2);
    c.Op("fake_channel_wise_quantize_dequantize_abs_max(X=", c.Numbers(dims, -2.0f, 2.0f),
         ") -> (Out=weights, OutScale=ranges) {quant_axis=", axis, ", bit_length=", bits, "}");
    return drawn;
  }
  const bool is_per_channel = c.OneIn(2);
  const std::string codes = c.Codes(VarType::INT8, dims, -drawn.largest_code, drawn.largest_code);
  drawn.ranges = c.Numbers({is_per_channel ? dims[axis] : 1}, 0.3f, 2);
  c.Op("dequantize_linear(X=", codes, ", Scale=", drawn.ranges, ", ZeroPoint=", c.Floats({1}, {0}),
       ") -> (Y=weights) {quant_axis=", is_per_channel ? axis : -1, ", bit_length=", bits, "}");
  return drawn;
}

// Codes with a step and a zero point for each column.
Weights SomeRowWiseWeights(CaseMaker& c, const Dims& dims) {
  const Coding coding = SomeWeightCoding(c);
  const std::string codes = c.Codes(VarType::INT8, dims, coding.low, coding.high);
  const std::string steps = c.Numbers({dims[1]}, 0.001f, 0.02f);
  const std::string offsets = c.Integers(VarType::INT32, {dims[1]}, coding.low, coding.high);
  c.Op("fake_row_wise_dequantize(X=", codes, ", Scale=", steps, ", ZeroPoint=", offsets,
       ") -> (Out=weights) {quant_axis=1}");
  return {{"weights", 0.02f * 255}, steps, /*largest_code=*/1};
}

// Adds a bias in steps of the sums that `product` holds, with channels along `axis`; gives the sum.
std::string AddBiasInSteps(CaseMaker& c, const Activation& input, const Weights& weights,
                           const std::string& product, const Dims& dims, int axis) {
  const std::string bias = c.Numbers({dims[axis]}, -9, 9);
  c.Op("fake_quantize_dequantize_bias(X=", bias, ", InputScale=", input.range,
       ", WeightScale=", weights.ranges, ") -> (Out=bias) {input_largest_code=", input.largest_code,
       ", weight_largest_code=", weights.largest_code, "}");
  c.Op("elementwise_add(X=", product, ", Y=bias) -> (Out=biased) {axis=", axis, "}");
  return "biased";
}

// The floats of both operands are rounded, and so are the operations on the sum, a few times each.
// The ops after a sum multiply its error by at most `gain`.
void CompareSums(CaseMaker& c, int64_t taps, const Operand& a, const Operand& b, double gain = 1) {
  c.Magnitude(gain * static_cast<double>(taps) * a.largest * b.largest);
}

Generator Convolution(const std::string& type, const ConvolutionOptions& options) {
  return [=](CaseMaker& c) {
    ConvolutionOptions of_images = options;
    of_images.may_be_channels_last = false;
    const SomeConvolution drawn = DrawConvolution(c, of_images);
    const Activation input = SomeActivation(c, drawn.input);
    const int axis = options.direction == Direction::kTransposed ? 1 : 0;
    const Weights weights = SomeWeights(c, drawn.filter, axis);
    const std::string product = absl::StrCat(
        type, "(Input=activation, Filter=weights) -> (Output=product) {", drawn.attributes, "}");
    const Dims dims =
        c.OutputDims(absl::StrCat(type, "(Input=image, Filter=filter) -> (Output=product) {",
                                  drawn.attributes, "}"),
                     {{"image", drawn.input}, {"filter", drawn.filter}});
    c.Op(product);
    const std::string sum = c.OneIn(4) && drawn.groups == 1
                                ? AddBiasInSteps(c, input, weights, "product", dims, /*axis=*/1)
                                : "product";
    const double gain = AddAfterProduct(c, sum, dims, /*axis=*/1);
    CompareSums(c, drawn.taps, input.operand, weights.operand, gain);
  };
}

Generator Product(const std::string& type) {
  return [=](CaseMaker& c) {
    const SomeProduct drawn = DrawProduct(c, type);
    const Activation input = SomeActivation(c, drawn.x);
    const Weights weights = SomeWeights(c, drawn.y, drawn.column_axis);
    const auto text = [&](const std::string& x, const std::string& y) {
      return absl::StrCat(type, type == "fc" ? "(Input=" : "(X=", x,
                          type == "fc" ? ", W=" : ", Y=", y, ") -> (Out=product) {",
                          drawn.attributes, "}");
    };
    const Dims dims = c.OutputDims(text("x", "y"), {{"x", drawn.x}, {"y", drawn.y}});
    c.Op(text("activation", "weights"));
    const int axis = static_cast<int>(dims.size()) - 1;
    const std::string sum = c.OneIn(4) && dims[axis] == drawn.columns
                                ? AddBiasInSteps(c, input, weights, "product", dims, axis)
                                : "product";
    const double gain = AddAfterProduct(c, sum, dims, axis);
    CompareSums(c, drawn.inner, input.operand, weights.operand, gain);
    if (drawn.is_repeated) c.Sums(drawn.inner);
  };
}

// A bias in steps of the sums: both compute float(acc + bias) * step.
void ProductWithBias(CaseMaker& c) {
  const SomeProduct drawn = DrawProduct(c, "fc");
  const Activation input = SomeActivation(c, drawn.x);
  const Weights weights = c.OneIn(3) ? SomeRowWiseWeights(c, drawn.y) : SomeWeights(c, drawn.y, 1);
  const std::string bias = c.Numbers({drawn.y[1]}, -9, 9);
  c.Op("fake_quantize_dequantize_bias(X=", bias, ", InputScale=", input.range,
       ", WeightScale=", weights.ranges, ") -> (Out=bias) {input_largest_code=", input.largest_code,
       ", weight_largest_code=", weights.largest_code, "}");
  c.Op("fc(Input=activation, W=weights, Bias=bias) -> (Out=product) {", drawn.attributes, "}");
  c.Fetch({"product"});
  Operand with_bias = input.operand;
  with_bias.largest += 9;
  CompareSums(c, drawn.inner, with_bias, weights.operand);
}

void RowWiseProduct(CaseMaker& c) {
  const SomeProduct drawn = DrawProduct(c, "fc");
  const Activation input = SomeActivation(c, drawn.x);
  const Weights weights = SomeRowWiseWeights(c, drawn.y);
  const auto text = [&](const std::string& x, const std::string& w) {
    return absl::StrCat("fc(Input=", x, ", W=", w, ") -> (Out=product) {", drawn.attributes, "}");
  };
  const Dims dims = c.OutputDims(text("x", "y"), {{"x", drawn.x}, {"y", drawn.y}});
  c.Op(text("activation", "weights"));
  const int axis = static_cast<int>(dims.size()) - 1;
  c.Fetch({c.OneIn(2) ? AddBiasInSteps(c, input, weights, "product", dims, axis) : "product"});
  CompareSums(c, drawn.inner, input.operand, weights.operand);
}

void AveragePool(CaseMaker& c) {
  const SomePooling drawn = DrawPooling(c, /*may_be_channels_last=*/false);
  const Activation input = SomeActivation(c, drawn.input);
  c.Op("pool2d(X=activation) -> (Out=pooled) {pooling_type=\"avg\", ", drawn.attributes, "}");
  c.Fetch({"pooled"});
  c.Magnitude(input.operand.largest);
}

void MaxPool(CaseMaker& c) {
  const SomePooling drawn = DrawPooling(c, /*may_be_channels_last=*/false);
  SomeActivation(c, drawn.input);
  c.Op("pool2d(X=activation) -> (Out=pooled) {pooling_type=\"max\", ", drawn.attributes, "}");
  c.Fetch({"pooled"});
  c.Exact();
}

// One fused multiply-add, where the ops round three times.
void SumOfCodes(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const Activation input = SomeActivation(c, dims);
  const std::string other = c.Numbers(dims, -2.0f, 2.0f);
  const bool is_first = c.OneIn(2);
  c.Declare("activation f32", DimsList(dims));
  c.Op("elementwise_add(X=", is_first ? "activation" : other,
       ", Y=", is_first ? other : "activation", ") -> (Out=sum)");
  if (c.OneIn(2)) {
    c.Op("relu(X=sum) -> (Out=positive_sum)");
    c.Fetch({"positive_sum"});
  } else {
    c.Fetch({"sum"});
  }
  c.Magnitude(input.operand.largest + 2);
}

// One multiplication of an integer, where the ops round three times.
void ProductOfElements(CaseMaker& c) {
  const SomeBroadcast drawn = DrawBroadcast(c);
  const Activation x = SomeActivation(c, drawn.x);
  const Activation y = SomeActivation(c, drawn.y, "factor");
  c.Declare("activation f32", DimsList(drawn.x));
  c.Declare("factor f32", DimsList(drawn.y));
  c.Op("elementwise_mul(X=activation, Y=factor) -> (Out=product) {axis=", drawn.axis, "}");
  c.Fetch({"product"});
  c.Magnitude(x.operand.largest * y.operand.largest);
}

void Lookup(CaseMaker& c) {
  const Dims table = {c.Between(1, 12), c.Between(1, 40)};
  SomeWeights(c, table, c.OneIn(4) ? 1 : 0);
  c.Op("lookup_table_v2(W=weights, Ids=",
       c.Integers(VarType::INT64, c.SomeDims(1, 2, 10), 0, table[0] - 1),
       ") -> (Out=rows) {padding_idx=", c.OneIn(2) ? -1 : c.Between(0, 3), "L}");
  c.Fetch({"rows"});
  c.Exact();
}

}  // namespace

Generators OnIntegersGenerators() {
  const ConvolutionOptions depthwise = {Direction::kForward, true};
  const ConvolutionOptions transposed = {Direction::kTransposed};
  return {{"conv2d on integers", Convolution("conv2d", {})},
          {"depthwise_conv2d on integers", Convolution("depthwise_conv2d", depthwise)},
          {"conv2d_transpose on integers", Convolution("conv2d_transpose", transposed)},
          {"mul on integers", Product("mul")},
          {"matmul on integers", Product("matmul")},
          {"matmul_v2 on integers", Product("matmul_v2")},
          {"fc on integers", Product("fc")},
          {"fc on integers with bias", ProductWithBias},
          {"fc on integers, row-wise", RowWiseProduct},
          {"pool2d on integers", AveragePool},
          {"pool2d of codes", MaxPool},
          {"elementwise_add of codes", SumOfCodes},
          {"elementwise_mul on integers", ProductOfElements},
          {"lookup_table_v2 of codes", Lookup}};
}

}  // namespace fixpoint::random_cases
