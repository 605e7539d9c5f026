// Convolutions of floats, by themselves and with what is fused after them.

#include <algorithm>

#include "tests/random/generators.h"
#include "tests/random/generators/after_product.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

Generator Convolution(const std::string& type, const ConvolutionOptions& options) {
  return [=](CaseMaker& c) {
    const SomeConvolution drawn = DrawConvolution(c, options);
    const std::string input = c.Numbers(drawn.input);
    c.Op(type, "(Input=", input, ", Filter=", c.Numbers(drawn.filter), ") -> (Output=out) {",
         drawn.attributes, "}");
    // A gradient of the filter has a summand for each place of an image.
    c.Sums(std::max(drawn.taps, SizeOf(drawn.input)));
  };
}

Generator WithEpilogue(const std::string& type, ConvolutionOptions options) {
  options.may_be_channels_last = false;
  return [=](CaseMaker& c) {
    const SomeConvolution drawn = DrawConvolution(c, options);
    const std::string input = c.Numbers(drawn.input);
    const std::string product =
        absl::StrCat(type, "(Input=", input, ", Filter=", c.Numbers(drawn.filter),
                     ") -> (Output=product) {", drawn.attributes, "}");
    const Dims dims = c.OutputDims(product);
    c.Op(product);
    AddAfterProduct(c, "product", dims, /*axis=*/1);
    c.Sums(drawn.taps);
  };
}

}  // namespace

Generators ConvolutionGenerators() {
  const ConvolutionOptions transposed = {Direction::kTransposed};
  return {{"conv2d", Convolution("conv2d", {})},
          {"depthwise_conv2d", Convolution("depthwise_conv2d", {Direction::kForward, true})},
          {"conv2d_transpose", Convolution("conv2d_transpose", transposed)},
          {"depthwise_conv2d_transpose",
           Convolution("depthwise_conv2d_transpose", {Direction::kTransposed, true})},
          {"conv2d with an epilogue", WithEpilogue("conv2d", {})},
          {"depthwise_conv2d with an epilogue",
           WithEpilogue("depthwise_conv2d", {Direction::kForward, true})},
          {"conv2d_transpose with an epilogue", WithEpilogue("conv2d_transpose", transposed)}};
}

}  // namespace fixpoint::random_cases
