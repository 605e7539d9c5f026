// Products of floats.

#include "tests/random/generators.h"
#include "tests/random/generators/after_product.h"
#include "tests/random/generators/matrices.h"

namespace fixpoint::random_cases {
namespace {

Generator Product(const std::string& type) {
  return [type](CaseMaker& c) {
    const SomeProduct drawn = DrawProduct(c, type);
    const std::string x = c.Numbers(drawn.x);
    c.Op(type, "(X=", x, ", Y=", c.Numbers(drawn.y), ") -> (Out=out) {", drawn.attributes, "}");
    c.Sums(drawn.summands);
  };
}

Generator WithEpilogue(const std::string& type) {
  return [type](CaseMaker& c) {
    const SomeProduct drawn = DrawProduct(c, type);
    const std::string x = c.Numbers(drawn.x);
    const std::string product = absl::StrCat(type, "(X=", x, ", Y=", c.Numbers(drawn.y),
                                             ") -> (Out=product) {", drawn.attributes, "}");
    const Dims dims = c.OutputDims(product);
    c.Op(product);
    AddAfterProduct(c, "product", dims, static_cast<int>(dims.size()) - 1);
    c.Sums(drawn.summands);
  };
}

void FullyConnected(CaseMaker& c) {
  const SomeProduct drawn = DrawProduct(c, "fc");
  const std::string input = c.Numbers(drawn.x);
  const std::string weights = c.Numbers(drawn.y);
  const std::string bias = c.OneIn(3) ? "" : absl::StrCat(", Bias=", c.Numbers({drawn.y[1]}));
  c.Op("fc(Input=", input, ", W=", weights, bias, ") -> (Out=out) {", drawn.attributes,
       c.OneIn(2) ? ", activation_type=\"relu\"" : "", "}");
  c.Sums(drawn.summands);
}

}  // namespace

Generators ProductGenerators() {
  return {{"mul", Product("mul")},
          {"matmul", Product("matmul")},
          {"matmul_v2", Product("matmul_v2")},
          {"fc", FullyConnected},
          {"mul with an epilogue", WithEpilogue("mul")},
          {"matmul_v2 with an epilogue", WithEpilogue("matmul_v2")}};
}

}  // namespace fixpoint::random_cases
