// Functions of one element, and prelu.

#include "tests/random/generators/activation.h"

#include <set>

#include "ops/activation.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// What is rounded nowhere.
bool IsExact(const std::string& type) {
  static const auto* const types = new std::set<std::string>{
      "relu", "relu6", "brelu", "thresholded_relu", "abs", "ceil", "floor", "round", "sign"};
  return types->count(type) > 0;
}

Generator FunctionOf(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const bool is_of_positive = type == "log" || type == "sqrt" || type == "rsqrt" || type == "pow";
    const std::string x = is_of_positive  ? c.Numbers(dims, 0.01f, 4)
                          : IsExact(type) ? c.AnyNumbers(dims)
                                          : c.WideNumbers(dims, 6);
    c.Op(type, "(X=", x, ") -> (Out=out) {", SomeAttributes(c, type), "}");
    if (IsExact(type)) c.Exact();
  };
}

void Prelu(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const std::string mode = c.OneOf<std::string>({"all", "channel", "element"});
  Dims alpha = {1};
  if (mode == "channel") alpha = {dims[1]};
  if (mode == "element") alpha.assign(dims.begin() + 1, dims.end());
  if (mode == "element" && c.OneIn(2)) alpha.insert(alpha.begin(), 1);
  c.Op("prelu(X=", c.Numbers(dims), ", Alpha=", c.Numbers(alpha), ") -> (Out=out) {mode=\"", mode,
       "\"}");
  c.Sums(SizeOf(dims));
}

}  // namespace

std::string SomeAttributes(CaseMaker& c, const std::string& activation) {
  std::vector<std::string> attributes;
  for (const AttrSchema& attr : FindOpSchema(activation)->attrs()) {
    if (attr.default_value == nullptr || !Includes(attr.eras, c.era()) || c.OneIn(3)) continue;
    if (attr.type == AttrType::FLOAT) {
      const float value = attr.default_value->f() * c.Between(0.5f, 1.5f);
      attributes.push_back(absl::StrCat(attr.name, "=", FloatText(value)));
    } else if (attr.name == "approximate") {
      attributes.push_back(absl::StrCat(attr.name, "=", BoolText(c.OneIn(2))));
    }
  }
  return absl::StrJoin(attributes, ", ");
}

Generators ActivationGenerators() {
  Generators generators = {{"prelu", Prelu}};
  for (const std::string& type : ActivationTypes()) generators.push_back({type, FunctionOf(type)});
  return generators;
}

}  // namespace fixpoint::random_cases
