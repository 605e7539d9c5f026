// Ops between floats and codes that oneDNN runs in the reference, and paddle-mobile's under the
// same names.

#include "tests/random/generators.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeCodes(CaseMaker& c, const Dims& dims) {
  return c.OneIn(2) ? c.Codes(VarType::INT8, dims, -128, 127)
                    : c.Codes(VarType::UINT8, dims, 0, 255);
}

std::string Shift(CaseMaker& c, const char* name) {
  return c.is_2x() && c.OneIn(2)
             ? absl::StrCat(", ", name, "=", FloatText(static_cast<float>(c.Between(0, 255))))
             : absl::StrCat(", ", name, "=0.0");
}

void Quantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  if (c.OneIn(2)) {
    const bool has_range = c.OneIn(2);
    c.Op("quantize(X=", c.Numbers(dims),
         has_range ? absl::StrCat(", InScale=", c.Numbers({1}, 0.1f, 2)) : "",
         ") -> (Out=out, OutScale=range) {bit_length=", c.Between(2, 16), "}");
  } else {
    c.Op("quantize(Input=", c.Numbers(dims),
         ") -> (Output=out) {Scale=", FloatText(c.Between(1.0f, 200.0f)),
         ", is_negative_input=", BoolText(c.OneIn(2)), Shift(c, "Shift"), "}");
  }
  c.Exact();
}

void Dequantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  if (c.OneIn(2)) {
    c.Op("dequantize(X=", c.Codes(VarType::INT8, dims, -127, 127),
         ", Scale=", c.Numbers({1}, 0.1f, 2), ") -> (Out=out) {max_range=127.0}");
  } else {
    c.Op("dequantize(Input=", SomeCodes(c, dims),
         ") -> (Output=out) {Scale=", FloatText(c.Between(1.0f, 200.0f)), Shift(c, "Shift"), "}");
  }
}

void Requantize(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const bool is_signed = c.OneIn(2);
  c.Op("requantize(Input=",
       is_signed ? c.Codes(VarType::INT8, dims, -128, 127) : c.Codes(VarType::UINT8, dims, 0, 255),
       ") -> (Output=out) {Scale_in=", FloatText(c.Between(1.0f, 200.0f)),
       ", Scale_out=", FloatText(c.Between(1.0f, 200.0f)),
       is_signed ? ", Shift_in=0.0" : Shift(c, "Shift_in"), Shift(c, "Shift_out"), "}");
  c.Exact();
}

// One of codes, with oneDNN's scales and maybe what it does with its sums.
Generator Convolution(const std::string& type, const ConvolutionOptions& options) {
  return [=](CaseMaker& c) {
    const SomeConvolution drawn = DrawConvolution(c, options);
    const std::string input = SomeCodes(c, drawn.input);
    const std::string filter =
        c.OneIn(2) ? c.Numbers(drawn.filter) : c.Codes(VarType::INT8, drawn.filter, -128, 127);
    const bool has_bias = !c.is_2x() && c.OneIn(2);
    const char* const functions[] = {"", "relu", "relu6", "leaky_relu"};
    c.Op(type, "(Input=", input, ", Filter=", filter,
         has_bias ? absl::StrCat(", Bias=", c.Numbers({drawn.filters})) : "", ") -> (Output=out) {",
         drawn.attributes, ", Scale_in=", FloatText(c.Between(1.0f, 200.0f)), ", Scale_weights=[",
         FloatText(c.Between(1.0f, 200.0f)), "], Scale_out=", FloatText(c.Between(0.1f, 20.0f)),
         ", force_fp32_output=", BoolText(c.OneIn(4)), ", fuse_activation=\"",
         functions[c.Between(0, 3)], "\", fuse_alpha=0.5}");
    c.Exact();
  };
}

}  // namespace

Generators Int8RuntimeGenerators() {
  return {
      {"quantize", Quantize},
      {"dequantize", Dequantize},
      {"requantize", Requantize},
      {"conv2d of codes", Convolution("conv2d", {})},
      {"depthwise_conv2d of codes", Convolution("depthwise_conv2d", {Direction::kForward, true})}};
}

}  // namespace fixpoint::random_cases
