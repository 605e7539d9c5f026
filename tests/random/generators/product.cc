// Products of floats.

#include <algorithm>
#include <string>

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

void Bmm(CaseMaker& c) {
  const int batch = c.Between(1, 4);
  const int rows = c.Between(1, 20);
  const int inner = c.OneIn(5) ? c.Between(100, 400) : c.Between(1, 20);
  const int columns = c.Between(1, 20);
  const std::string x = c.Numbers({batch, rows, inner});
  c.Op("bmm(X=", x, ", Y=", c.Numbers({batch, inner, columns}), ") -> (Out=out)");
  c.Sums(std::max({rows, inner, columns}));
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

void Attention(CaseMaker& c) {
  Dims leading = c.SomeDims(1, 2, 3);
  if (c.OneIn(4)) leading.clear();
  const auto with = [&leading](int64_t rows, int64_t columns) {
    Dims dims = leading;
    dims.insert(dims.end(), {rows, columns});
    return dims;
  };
  const int rows = c.Between(1, 7);
  const int keys = c.Between(1, 7);
  const int depth = c.Between(1, 9);
  const std::string q = c.Numbers(with(rows, depth), -2, 2);
  const std::string k = c.Numbers(with(keys, depth), -2, 2);
  const std::string v = c.Numbers(with(keys, c.Between(1, 9)));
  const int form = c.Between(0, 4);
  std::string mask;
  if (form == 1) mask = c.Numbers({keys}, -2, 2);
  if (form == 2) mask = c.Numbers({rows, keys}, -2, 2);
  if (form == 3) mask = c.Numbers(with(1, keys), -2, 2);
  if (form == 4) {
    // Of keys that are left out; of the first row all are.
    std::vector<float> masked(static_cast<size_t>(rows) * keys);
    for (size_t i = 0; i < masked.size(); ++i) {
      if (i < static_cast<size_t>(keys) || c.OneIn(3)) masked[i] = -1e9f;
    }
    mask = c.Floats({rows, keys}, masked);
  }
  c.Op("scaled_dot_product_attention(Q=", q, ", K=", k, ", V=", v,
       mask.empty() ? "" : absl::StrCat(", Mask=", mask),
       ") -> (Out=out) {alpha=", c.OneOf({"1.0", "0.5", "-0.25"}), "}");
  c.Sums(depth * keys);
}

}  // namespace

Generators ProductGenerators() {
  return {{"mul", Product("mul")},
          {"matmul", Product("matmul")},
          {"matmul_v2", Product("matmul_v2")},
          {"bmm", Bmm},
          {"fc", FullyConnected},
          {"scaled_dot_product_attention", Attention},
          {"mul with an epilogue", WithEpilogue("mul")},
          {"matmul_v2 with an epilogue", WithEpilogue("matmul_v2")}};
}

}  // namespace fixpoint::random_cases
