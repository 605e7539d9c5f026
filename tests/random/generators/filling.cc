// Constants and random numbers.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string ShapeText(const Dims& dims, const char* suffix) {
  return absl::StrCat("[", absl::StrJoin(dims, absl::StrCat(suffix, ", ")), suffix, "]");
}

int SomeType(CaseMaker& c) {
  return c.OneOf({VarType::FP32, VarType::FP32, VarType::INT32, VarType::INT64, VarType::BOOL});
}

void FillConstant(CaseMaker& c) {
  c.Op("fill_constant() -> (Out=out) {shape=", ShapeText(c.SomeDims(1, 4), "L"),
       ", dtype=", SomeType(c), ", value=", FloatText(c.Between(-9.0f, 9.0f)),
       c.OneIn(4) ? ", str_value=\"2.5\"" : "", "}");
  c.Exact();
}

void FillBatchSizeLike(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = c.Numbers(dims);
  if (c.OneIn(3)) c.CutIntoSequences(x);
  const Dims shape = c.SomeDims(1, 3);
  c.Op("fill_constant_batch_size_like(Input=", x, ") -> (Out=out) {shape=", ShapeText(shape, ""),
       ", dtype=", SomeType(c), ", value=", FloatText(c.Between(-9.0f, 9.0f)),
       ", input_dim_idx=", c.Between(0, static_cast<int>(dims.size()) - 1),
       ", output_dim_idx=", c.Between(0, static_cast<int>(shape.size()) - 1), "}");
  c.Exact();
}

void FillZerosLike(CaseMaker& c) {
  c.Op("fill_zeros_like(X=", c.Numbers(c.SomeDims(1, 4)), ") -> (Out=out)");
  c.Exact();
}

void FillAnyLike(CaseMaker& c) {
  c.Op("fill_any_like(X=", c.Numbers(c.SomeDims(1, 4)),
       ") -> (Out=out) {value=", FloatText(c.Between(-9.0f, 9.0f)),
       ", dtype=", c.OneIn(2) ? -1 : SomeType(c), "}");
  c.Exact();
}

void AssignValue(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const bool is_float = c.OneIn(2);
  std::vector<float> floats;
  std::vector<int> integers;
  for (int64_t i = 0; i < SizeOf(dims); ++i) {
    floats.push_back(c.Between(-9.0f, 9.0f));
    integers.push_back(c.Between(-9, 9));
  }
  c.Op("assign_value() -> (Out=out) {shape=", ShapeText(dims, ""), ", ",
       is_float ? absl::StrCat("dtype=5, fp32_values=", FloatsText(floats))
                : absl::StrCat("dtype=2, int32_values=", ListText(integers)),
       "}");
  c.Exact();
}

void Shape(CaseMaker& c) {
  c.Op("shape(Input=", c.Numbers(c.SomeDims(1, 4)), ") -> (Out=out)");
  c.Exact();
}

// Its ends decide how long the output is, so they have to be known before the run.
void Range(CaseMaker& c) {
  const bool is_float = c.OneIn(3);
  const auto constant = [&](const char* name, float value) {
    c.Op("fill_constant() -> (Out=", name, ") {shape=[1L], dtype=", is_float ? 5 : 3,
         ", value=", FloatText(value), "}");
  };
  const int start = c.Between(-9, 9);
  const int step = c.Between(1, 4) * (c.OneIn(2) ? 1 : -1);
  constant("start", static_cast<float>(start));
  constant("end", static_cast<float>(start + step * c.Between(1, 6)));
  constant("step", static_cast<float>(step));
  c.Op("range(Start=start, End=end, Step=step) -> (Out=out)");
  c.Exact();
}

Generator RandomNumbers(const std::string& type) {
  return [type](CaseMaker& c) {
    const bool is_uniform = type == "uniform_random";
    c.Op(type, "() -> (Out=out) {shape=",
         ShapeText(c.SomeDims(1, 4), type == "truncated_gaussian_random" ? "" : "L"),
         ", seed=", c.Between(0, 3),
         is_uniform ? ", min=" : ", mean=", FloatText(c.Between(-3.0f, 0.0f)),
         is_uniform ? ", max=" : ", std=", FloatText(c.Between(0.1f, 3.0f)), "}");
  };
}

}  // namespace

Generators FillingGenerators() {
  return {{"fill_constant", FillConstant},
          {"fill_constant_batch_size_like", FillBatchSizeLike},
          {"fill_zeros_like", FillZerosLike},
          {"fill_any_like", FillAnyLike},
          {"assign_value", AssignValue},
          {"shape", Shape},
          {"range", Range},
          {"uniform_random", RandomNumbers("uniform_random")},
          {"gaussian_random", RandomNumbers("gaussian_random")},
          {"truncated_gaussian_random", RandomNumbers("truncated_gaussian_random")}};
}

}  // namespace fixpoint::random_cases
