#include "tests/random/generators/after_product.h"

#include <cmath>

namespace fixpoint::random_cases {
namespace {

std::string SomeResidualOfCodes(CaseMaker& c, const Dims& dims) {
  const std::string codes = c.Codes(VarType::INT8, dims, -127, 127);
  const std::string range = c.Numbers({1}, 0.5f, 2);
  c.Declare("residual f32", DimsList(dims));
  c.Op("dequantize_linear(X=", codes, ", Scale=", range, ", ZeroPoint=", c.Floats({1}, {0}),
       ") -> (Y=residual) {quant_axis=-1, bit_length=8}");
  return "residual";
}

}  // namespace

double AddAfterProduct(CaseMaker& c, std::string value, const Dims& dims, int axis) {
  const Dims channels = {dims[axis]};
  constexpr float kSmallestVariance = 0.1f;
  constexpr float kLargestScale = 2;
  double gain = 1;
  int ops = 0;
  const auto next = [&] { return absl::StrCat("after", ++ops); };
  // By its own value, so that inputs are drawn in the order in which they stand.
  const auto step = [&](const std::string& op_of, const std::string& rest) {
    const std::string out = next();
    c.Op(op_of, value, rest, out, ")");
    value = out;
  };
  if (c.OneIn(2)) {
    const std::string bias = c.Numbers(channels);
    const std::string out = next();
    c.Op("elementwise_add(X=", value, ", Y=", bias, ") -> (Out=", out, ") {axis=", axis, "}");
    value = out;
  }
  if (axis == 1 && c.OneIn(3)) {
    const std::string scale = c.Numbers(channels, -kLargestScale, kLargestScale);
    const std::string bias = c.Numbers(channels);
    const std::string mean = c.Numbers(channels);
    const std::string variance = c.Numbers(channels, kSmallestVariance, 2);
    gain = kLargestScale / std::sqrt(kSmallestVariance);
    const std::string out = next();
    c.Op("batch_norm(X=", value, ", Scale=", scale, ", Bias=", bias, ", Mean=", mean,
         ", Variance=", variance, ") -> (Y=", out, ", MeanOut=", mean, ", VarianceOut=", variance,
         ", SavedMean=saved_mean, SavedVariance=saved_variance) {is_test=true}");
    value = out;
  }
  if (c.OneIn(2)) {
    const std::string residual = c.OneIn(2) ? c.Numbers(dims) : SomeResidualOfCodes(c, dims);
    if (c.OneIn(2)) {
      step("elementwise_add(X=", absl::StrCat(", Y=", residual, ") -> (Out="));
    } else {
      step(absl::StrCat("elementwise_add(X=", residual, ", Y="), ") -> (Out=");
    }
  }
  if (c.OneIn(2)) {
    step(absl::StrCat(c.OneOf<std::string>({"relu", "relu", "relu6", "leaky_relu"}), "(X="),
         ") -> (Out=");
  }
  c.Fetch({value});
  return gain;
}

}  // namespace fixpoint::random_cases
