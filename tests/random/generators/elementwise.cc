// Ops of two tensors that broadcast: arithmetic, comparisons, logic; and where.

#include "tests/random/generators.h"
#include "tests/random/generators/broadcast.h"

namespace fixpoint::random_cases {
namespace {

Generator Arithmetic(const std::string& type) {
  return [type](CaseMaker& c) {
    const SomeBroadcast dims = DrawBroadcast(c);
    const bool is_power = type == "elementwise_pow";
    if (!is_power && c.OneIn(6)) {
      const VarType::Type dtype = c.OneOf({VarType::INT32, VarType::INT64});
      const int low = type == "elementwise_div" ? 1 : -20;
      const std::string x = c.Integers(dtype, dims.x, -20, 20);
      const std::string y = c.Integers(dtype, dims.y, low, 20);
      c.Op(type, "(X=", x, ", Y=", y, ") -> (Out=out) {axis=", dims.axis, "}");
      return;
    }
    // Floats hold what the gradient of a quotient computes on the way.
    const bool is_quotient = type == "elementwise_div";
    const bool is_of_positive = is_power || (is_quotient && c.OneIn(2));
    const std::string x = is_power      ? c.Numbers(dims.x, 0.1f, 3)
                          : is_quotient ? c.Numbers(dims.x)
                                        : c.AnyNumbers(dims.x);
    const std::string y = is_of_positive ? c.Numbers(dims.y, 0.1f, 3)
                          : is_quotient  ? c.Numbers(dims.y)
                                         : c.AnyNumbers(dims.y);
    c.Op(type, "(X=", x, ", Y=", y, ") -> (Out=out) {axis=", dims.axis, "}");
    c.Sums(SizeOf(dims.x));
  };
}

Generator Comparison(const std::string& type) {
  return [type](CaseMaker& c) {
    const SomeBroadcast dims = DrawBroadcast(c);
    const bool is_integer = c.OneIn(2);
    const VarType::Type dtype = c.OneOf({VarType::INT32, VarType::INT64});
    const std::string x = is_integer ? c.Integers(dtype, dims.x, -2, 2) : c.AnyNumbers(dims.x);
    const std::string y = is_integer ? c.Integers(dtype, dims.y, -2, 2) : c.AnyNumbers(dims.y);
    c.Op(type, "(X=", x, ", Y=", y, ") -> (Out=out) {axis=", dims.axis, "}");
    c.Exact();
  };
}

Generator Logic(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const std::string x = c.Integers(VarType::BOOL, dims, 0, 1);
    const std::string y =
        type == "logical_not" ? "" : absl::StrCat(", Y=", c.Integers(VarType::BOOL, dims, 0, 1));
    c.Op(type, "(X=", x, y, ") -> (Out=out)");
    c.Exact();
  };
}

void Where(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::string condition = c.Integers(VarType::BOOL, dims, 0, 1);
  const std::string x = c.AnyNumbers(dims);
  c.Op("where(Condition=", condition, ", X=", x, ", Y=", c.AnyNumbers(dims), ") -> (Out=out)");
  c.Exact();
}

}  // namespace

SomeBroadcast DrawBroadcast(CaseMaker& c) {
  SomeBroadcast dims;
  dims.x = c.SomeDims(1, 4);
  const int rank = static_cast<int>(dims.x.size());
  const int begin = c.OneIn(2) ? 0 : c.Between(0, rank - 1);
  const int end = c.OneIn(2) ? rank : c.Between(begin + 1, rank);
  dims.y.assign(dims.x.begin() + begin, dims.x.begin() + end);
  if (end < rank || c.OneIn(2)) dims.axis = begin;
  for (int64_t& dim : dims.y) dim = c.OneIn(5) ? 1 : dim;
  if (c.is_2x() && c.OneIn(4)) dims.x[c.Between(0, rank - 1)] = 1;
  return dims;
}

Generators ElementwiseGenerators() {
  Generators generators = {{"where", Where}};
  for (const char* type : {"add", "sub", "mul", "div", "max", "min", "pow"}) {
    const std::string name = absl::StrCat("elementwise_", type);
    generators.push_back({name, Arithmetic(name)});
  }
  for (const char* type :
       {"equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"}) {
    generators.push_back({type, Comparison(type)});
  }
  for (const char* type : {"logical_and", "logical_or", "logical_xor", "logical_not"}) {
    generators.push_back({type, Logic(type)});
  }
  return generators;
}

}  // namespace fixpoint::random_cases
