// Sums, scales, casts and other ops on each element, or on all of them.

#include <map>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

constexpr VarType::Type kIntegers[] = {VarType::INT32, VarType::INT64};

std::string SomeIntegers(CaseMaker& c, const Dims& dims) {
  return c.Integers(kIntegers[c.Between(0, 1)], dims, -50, 50);
}

void Scale(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::string x = c.OneIn(4) ? SomeIntegers(c, dims) : c.Numbers(dims);
  c.Op("scale(X=", x, ") -> (Out=out) {scale=", FloatText(c.Between(-3.0f, 3.0f)),
       ", bias=", FloatText(c.OneIn(2) ? 0 : c.Between(-3.0f, 3.0f)),
       ", bias_after_scale=", BoolText(c.OneIn(2)), "}");
}

void Sum(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const bool is_integer = c.OneIn(5);
  const VarType::Type type = c.OneOf({VarType::INT32, VarType::INT64});
  std::vector<std::string> terms;
  for (int i = c.Between(1, 5); i > 0; --i) {
    if (!terms.empty() && c.OneIn(4)) {
      terms.push_back(c.OneOf(terms));
    } else {
      terms.push_back(is_integer ? c.Integers(type, dims, -50, 50) : c.Numbers(dims));
    }
  }
  c.Op("sum(X=", ListText(terms), ") -> (Out=out)");
  c.Sums(static_cast<int64_t>(terms.size()));
}

void Increment(CaseMaker& c) {
  const std::string x = c.OneIn(2) ? SomeIntegers(c, {1}) : c.Numbers({1});
  c.Op("increment(X=", x, ") -> (Out=out) {step=", FloatText(c.Between(-3.0f, 3.0f)), "}");
}

// FP32 and integers, as numbers of VarType::Type.
void Cast(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const VarType::Type to = c.OneOf({VarType::BOOL, VarType::INT32, VarType::INT64, VarType::FP32,
                                    VarType::UINT8, VarType::INT8});
  const VarType::Type from = c.OneOf({VarType::BOOL, VarType::INT32, VarType::INT64, VarType::FP32,
                                      VarType::UINT8, VarType::INT8});
  const bool is_small = from == VarType::BOOL || from == VarType::UINT8;
  const std::string x = from == VarType::FP32 ? c.AnyNumbers(dims)
                                              : c.Integers(from, dims, is_small ? 0 : -128,
                                                           from == VarType::BOOL ? 1 : 127);
  c.Op("cast(X=", x, ") -> (Out=out) {in_dtype=", static_cast<int>(from),
       ", out_dtype=", static_cast<int>(to), "}");
  c.Exact();
}

void Mean(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("mean(X=", c.WideNumbers(dims, 15), ") -> (Out=out)");
  c.Sums(SizeOf(dims));
}

void SquaredL2Norm(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("squared_l2_norm(X=", c.WideNumbers(dims, 15), ") -> (Out=out)");
  c.Sums(SizeOf(dims));
}

void Clip(CaseMaker& c) {
  const float low = c.Between(-1.5f, 1.0f);
  c.Op("clip(X=", c.AnyNumbers(c.SomeDims(1, 4)), ") -> (Out=out) {min=", FloatText(low),
       ", max=", FloatText(low + c.Between(0.0f, 1.0f)), "}");
  c.Exact();
}

void ClipByNorm(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("clip_by_norm(X=", c.WideNumbers(dims, 15),
       ") -> (Out=out) {max_norm=", FloatText(c.Between(0.1f, 5.0f)), "}");
  c.Sums(SizeOf(dims));
}

// The steps of a schedule.
void SelectFromStep(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::string step = c.Integers(VarType::INT64, {1}, 1, 6);
  const int which = c.Between(0, 3);
  const std::string x = which == 0 ? "" : absl::StrCat("X=", c.Numbers(dims), ", ");
  const std::string before = which == 1 ? "" : absl::StrCat("Before=", c.Numbers(dims), ", ");
  c.Op("select_from_step(", x, before, "Step=", step, ") -> (Out=out) {from_step=", c.Between(1, 6),
       "L}");
  c.Exact();
}

}  // namespace

Generators ArithmeticGenerators() {
  return {{"scale", Scale},
          {"sum", Sum},
          {"increment", Increment},
          {"cast", Cast},
          {"mean", Mean},
          {"squared_l2_norm", SquaredL2Norm},
          {"clip", Clip},
          {"clip_by_norm", ClipByNorm},
          {"select_from_step", SelectFromStep}};
}

}  // namespace fixpoint::random_cases
