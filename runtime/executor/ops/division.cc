// Quotients that are integers, and what they leave.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_pairs.h"

namespace fixpoint::executor {
namespace {

enum class Rule { kRemainder, kDown, kTowardsZero };

// Of integers; y is not 0. The least integer over -1 is itself.
template <typename T>
T DividedIntegers(Rule rule, T x, T y) {
  const bool overflows = y == -1 && x == std::numeric_limits<T>::min();
  const T quotient = overflows ? x : static_cast<T>(x / y);
  const T rest = overflows ? T(0) : static_cast<T>(x % y);
  const bool has_other_sign = rest != 0 && (rest < 0) != (y < 0);
  if (rule == Rule::kRemainder) return has_other_sign ? static_cast<T>(rest + y) : rest;
  return rule == Rule::kDown && has_other_sign ? static_cast<T>(quotient - 1) : quotient;
}

template <typename T>
T Divided(Rule rule, T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return DividedIntegers(rule, x, y);
  } else {
    if (rule == Rule::kDown) return std::floor(x / y);
    if (rule == Rule::kTowardsZero) return std::trunc(x / y);
    const T rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
}

template <typename T>
absl::Status AddDivision(OpPlanner& op, Rule rule, VarType::Type dtype) {
  ASSIGN_OR_RETURN(const Pairing pairing, PairingOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", dtype));
  const Buffer out = op.WriteAs("Out", {dtype, pairing.dims});
  op.AddStep({{x, y}, {out}, [=](const StepContext& run) {
                const absl::Span<T> divisors = run.Of<T>(y);
                const bool has_zero =
                    std::find(divisors.begin(), divisors.end(), T(0)) != divisors.end();
                if (std::is_integral_v<T> && has_zero) {
                  return absl::InvalidArgumentError("Y has 0; want another integer");
                }
                const T* const numbers = run.Of<T>(x).data();
                T* const to = run.Of<T>(out).data();
                ForEachPair(pairing, out.size,
                            [=, divisors = divisors.data()](int64_t i, int64_t x_i, int64_t y_i) {
                              to[i] = Divided(rule, numbers[x_i], divisors[y_i]);
                            });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanDivision(OpPlanner& op, Rule rule) {
  const VarType::Type dtype = op.InputType("X").dtype;
  switch (dtype) {
    case VarType::INT32:
      return AddDivision<int32_t>(op, rule, dtype);
    case VarType::INT64:
      return AddDivision<int64_t>(op, rule, dtype);
    case VarType::FP32:
      return AddDivision<float>(op, rule, dtype);
    case VarType::FP64:
      return AddDivision<double>(op, rule, dtype);
    default:
      return absl::UnimplementedError(
          absl::StrCat("X is ", TypeName(dtype), "; want i32, i64, f32 or f64"));
  }
}

}  // namespace

OpPlans DivisionPlans() {
  return {{"elementwise_mod", [](OpPlanner& op) { return PlanDivision(op, Rule::kRemainder); }},
          {"elementwise_floordiv", [](OpPlanner& op) {
             return PlanDivision(op, op.era() == Era::kPaddle2 ? Rule::kDown : Rule::kTowardsZero);
           }}};
}

}  // namespace fixpoint::executor
