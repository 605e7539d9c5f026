// Reductions and running sums.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeReduction(CaseMaker& c, const Dims& dims, const char* suffix) {
  std::vector<std::string> axes;
  for (const int axis : c.SomeAxes(dims.size())) {
    const bool from_back = c.OneIn(4);
    axes.push_back(absl::StrCat(from_back ? axis - static_cast<int>(dims.size()) : axis, suffix));
  }
  return absl::StrCat("{dim=", ListText(axes), ", keep_dim=", BoolText(c.OneIn(2)),
                      ", reduce_all=", BoolText(c.OneIn(4)), "}");
}

Generator Reduction(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const bool picks = type == "reduce_max" || type == "reduce_min";
    const std::string x = c.OneIn(6)              ? c.Integers(VarType::INT64, dims, -3, 3)
                          : type == "reduce_prod" ? c.Numbers(dims, 0.8f, 1.25f)
                          : picks                 ? c.Numbers(dims)
                                                  : c.WideNumbers(dims, 15);
    c.Op(type, "(X=", x, ") -> (Out=out) ", SomeReduction(c, dims, ""));
    c.Sums(SizeOf(dims));
    if (picks) c.Exact();
  };
}

Generator Logic(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    c.Op(type, "(X=", c.Integers(VarType::BOOL, dims, 0, 1), ") -> (Out=out) ",
         SomeReduction(c, dims, c.is_2x() ? "L" : ""));
  };
}

void Cumsum(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("cumsum(X=", c.Numbers(dims), ") -> (Out=out) {axis=", c.SomeAxis(dims.size()),
       ", exclusive=", BoolText(c.OneIn(3)), ", reverse=", BoolText(c.OneIn(3)),
       c.is_2x() && c.OneIn(4) ? ", flatten=true" : "", "}");
  c.Sums(SizeOf(dims));
}

}  // namespace

Generators ReductionGenerators() {
  Generators generators = {{"cumsum", Cumsum}};
  for (const char* type :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"}) {
    generators.push_back({type, Reduction(type)});
  }
  for (const char* type : {"reduce_all", "reduce_any"}) generators.push_back({type, Logic(type)});
  return generators;
}

}  // namespace fixpoint::random_cases
