// Ops that make grids and matrices, divide integers, find norms, scale channels, and ask whether
// numbers are finite.

#include <string>
#include <vector>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

void Eye(CaseMaker& c) {
  c.Op("eye() -> (Out=out) {num_rows=", c.Between(1, 9),
       "L, num_columns=", c.OneIn(3) ? -1 : c.Between(1, 9),
       "L, dtype=", static_cast<int>(c.OneOf({VarType::FP32, VarType::INT32, VarType::INT64})),
       "}");
  c.Exact();
}

void Linspace(CaseMaker& c) {
  c.Op("fill_constant() -> (Out=num) {shape=[1L], dtype=2, value=",
       FloatText(static_cast<float>(c.Between(1, 20))), "}");
  const std::string start = c.Numbers({1});
  c.Op("linspace(Start=", start, ", Stop=", c.Numbers({1}), ", Num=num) -> (Out=out)",
       c.is_2x() ? " {dtype=5}" : "");
  c.Sums(2);
}

void Meshgrid(CaseMaker& c) {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (int i = c.Between(1, 4); i > 0; --i) {
    inputs.push_back(c.Numbers({c.Between(1, 7)}));
    outputs.push_back(absl::StrCat("out", i));
  }
  c.Op("meshgrid(X=", ListText(inputs), ") -> (Out=", ListText(outputs), ")");
  c.Exact();
}

void Triangle(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  c.Op("tril_triu(X=", c.Numbers(dims), ") -> (Out=out) {diagonal=", c.Between(-4, 4),
       ", lower=", BoolText(c.OneIn(2)), "}");
  c.Exact();
}

Generator AreFinite(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    c.Op(type, "(X=", c.OneIn(3) ? c.AnyNumbers(dims) : c.Numbers(dims), ") -> (Out=out)");
    c.Exact();
  };
}

// Of integers, because a float that is rounded may reach the next quotient.
Generator Division(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const VarType::Type dtype = c.OneOf({VarType::INT32, VarType::INT64});
    const std::string x = c.Integers(dtype, dims, -40, 40);
    const bool is_negative = c.OneIn(2);
    const Dims y = c.OneIn(2) ? dims : Dims{dims.back()};
    c.Op(type, "(X=", x, ", Y=", c.Integers(dtype, y, is_negative ? -7 : 1, is_negative ? -1 : 7),
         ") -> (Out=out)");
    c.Exact();
  };
}

void Norm(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  // No element is near 0, where the slope of a small power is large.
  c.Op("p_norm(X=", c.Numbers(dims, 0.5f, 2.0f),
       ") -> (Out=out) {porder=", c.OneOf({"1.0", "2.0", "3.0", "0.5", "inf", "-inf", "0.0"}),
       ", axis=", c.SomeAxis(dims.size()), ", keepdim=", BoolText(c.OneIn(2)), "}");
  c.Sums(8);
  c.Move({"out@GRAD"});
}

void ChannelAffine(CaseMaker& c) {
  const int channels = c.Between(1, 20);
  const bool is_last = c.OneIn(3);
  Dims dims = {c.Between(1, 3)};
  if (!is_last) dims.push_back(channels);
  const bool are_images = c.OneIn(2);
  for (int i = 0; are_images && i < 2; ++i) dims.push_back(c.Between(1, 7));
  if (is_last) dims.push_back(channels);
  const std::string x = c.Numbers(dims);
  const std::string scale = c.Numbers({channels});
  c.Op("affine_channel(X=", x, ", Scale=", scale, ", Bias=", c.Numbers({channels}),
       ") -> (Out=out) {data_layout=\"", is_last ? "NHWC" : "NCHW", "\"}");
  c.Sums(SizeOf(dims) / channels);
}

}  // namespace

Generators GridGenerators() {
  Generators generators = {{"eye", Eye},           {"linspace", Linspace},
                           {"meshgrid", Meshgrid}, {"tril_triu", Triangle},
                           {"p_norm", Norm},       {"affine_channel", ChannelAffine}};
  for (const char* type : {"isfinite", "isinf", "isnan", "isfinite_v2", "isinf_v2", "isnan_v2"}) {
    generators.push_back({type, AreFinite(type)});
  }
  for (const char* type : {"elementwise_mod", "elementwise_floordiv"}) {
    generators.push_back({type, Division(type)});
  }
  return generators;
}

}  // namespace fixpoint::random_cases
