// Where a bias is NaN or infinite, a lowered program gives the values that it gave before lowering,
// on the executor and on the interpreter: a function after the sum is folded into the epilogue only
// where that keeps a NaN, or where codes are stored, which have none.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/plan.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

// A product with a bias, whose sum y goes through `activation` to a.
constexpr char kSum[] = R"(
var x f32[-1,2]
var x.q f32[-1,2]
var x.d f32[-1,2]
var s f32[1] persistable
var zero i32[1] persistable
var w.int8 i8[2,6] persistable
var w.s f32[6] persistable
var zeros i32[6] persistable
var w f32[2,6]
var p f32[-1,6]
var b f32[6] persistable
var y f32[-1,6]
var a f32[-1,6]
quantize_linear(Scale=s, X=x, ZeroPoint=zero) -> (Y=x.q) {quant_axis=-1}
dequantize_linear(Scale=s, X=x.q, ZeroPoint=zero) -> (Y=x.d) {quant_axis=-1}
dequantize_linear(Scale=w.s, X=w.int8, ZeroPoint=zeros) -> (Y=w) {quant_axis=1}
mul(X=x.d, Y=w) -> (Out=p)
elementwise_add(X=p, Y=b) -> (Out=y)
)";

// a is stored only as codes, which another product reads.
constexpr char kProductOfCodes[] = R"(
var a.q f32[-1,6]
var a.d f32[-1,6]
var t f32[1] persistable
var u.int8 i8[6,2] persistable
var u.s f32[1] persistable
var u f32[6,2]
var z f32[-1,2]
quantize_linear(Scale=t, X=a, ZeroPoint=zero) -> (Y=a.q) {quant_axis=-1}
dequantize_linear(Scale=t, X=a.q, ZeroPoint=zero) -> (Y=a.d) {quant_axis=-1}
dequantize_linear(Scale=u.s, X=u.int8, ZeroPoint=zero) -> (Y=u) {quant_axis=-1}
mul(X=a.d, Y=u) -> (Out=z)
)";

constexpr char kParameters[] = R"(s f32[1] 2
zero i32[1] 0
w.int8 i8[2,6] 127 -127 85 32 95 -127 1 2 3 4 5 6
w.s f32[6] 0.5 1 0.25 2 1 0.5
zeros i32[6] 0 0 0 0 0 0
b f32[6] nan 0.25 inf -inf -0.125 1e30
t f32[1] 1.5
u.int8 i8[6,2] 127 -99 85 32 95 -127 1 2 3 4 5 6
u.s f32[1] 1
)";

struct Case {
  std::string name;
  std::string program;
  std::string fetched;
  std::string activation;
};

std::string WholeProgram(const std::string& version, const std::string& ops) {
  return absl::StrCat("program version=", version, "\nblock 0 {", ops, "}\n");
}

std::vector<Case> Cases() {
  std::vector<std::string> activations;
  for (const std::string& type : ActivationTypes()) {
    activations.push_back(absl::StrCat(type, "(X=y) -> (Out=a)"));
  }
  activations.push_back("relu6(X=y) -> (Out=a) {threshold=-1.0}");
  activations.push_back("leaky_relu(X=y) -> (Out=a) {alpha=0.0}");
  std::vector<Case> cases;
  for (const char* version : {"1008005", "2006002"}) {
    for (const std::string& activation : activations) {
      const std::string type = activation.substr(0, activation.find('('));
      std::string name = absl::StrCat(activation, version);
      name.erase(
          std::remove_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }),
          name.end());
      cases.push_back({absl::StrCat(name, "AsNumbers"),
                       WholeProgram(version, absl::StrCat(kSum, activation, "\n")), "a", type});
      // The code of a NaN that these functions keep is unspecified (docs/numerics.md).
      if (activation == "leaky_relu(X=y) -> (Out=a)" ||
          activation == "hard_swish(X=y) -> (Out=a)") {
        continue;
      }
      cases.push_back({absl::StrCat(name, "AsCodes"),
                       WholeProgram(version, absl::StrCat(kSum, activation, kProductOfCodes)), "z",
                       type});
    }
  }
  return cases;
}

std::string TextOf(absl::Span<const float> numbers) {
  std::string text;
  for (const float number : numbers) {
    absl::StrAppend(&text, std::isnan(number) ? "nan" : absl::StrCat(number), " ");
  }
  return text;
}

// Whether a product does the work of the activation, in the executor's plan of a program, and in a
// lowered program.
bool FoldsActivation(executor::Executor& executor, absl::Span<const Feed> feeds, const Case& c) {
  const auto plan = executor.PlanOf(feeds, {c.fetched});
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto& steps = (*plan)->steps;
  return std::any_of(steps.begin(), steps.end(), [&c](const executor::Step& step) {
    return absl::StrContains(step.name, absl::StrCat(" + ", c.activation));
  });
}

bool FoldsActivation(const LoweredModel& lowered, const Case& c) {
  return std::any_of(lowered.ops.begin(), lowered.ops.end(), [&c](const LoweredOp& op) {
    return op.type == c.activation && ReasonCode(op) == "in_epilogue";
  });
}

class LoweredNan : public testing::TestWithParam<Case> {};

TEST_P(LoweredNan, IsWhereItWasBefore) {
  const Program portable = ParsedProgram(GetParam().program);
  absl::StatusOr<Scope> scope = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable, *scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();

  const Tensor x = Tensor::FromValues<float>({2, 2}, {0.7f, -1.3f, 0.1f, 2.5f});
  const Feed feeds[] = {{"x", &x}};
  const auto simulated = executor::Executor::Create(portable, &*scope);
  const auto integers = executor::Executor::Create(lowered->program, &lowered->scope);
  auto judge = reference::Interpreter::Create(lowered->program, &lowered->scope);
  ASSERT_TRUE(simulated.ok() && integers.ok() && judge.ok())
      << simulated.status() << integers.status() << judge.status();
  EXPECT_EQ(FoldsActivation(**simulated, feeds, GetParam()), FoldsActivation(*lowered, GetParam()));
  const auto expected = (*simulated)->Run(feeds, {GetParam().fetched}, 0);
  const auto got = (*integers)->Run(feeds, {GetParam().fetched}, 0);
  const auto judged = judge->Run(feeds, {GetParam().fetched}, 0);
  ASSERT_TRUE(expected.ok() && got.ok() && judged.ok())
      << expected.status() << got.status() << judged.status();
  const absl::Span<const float> numbers = (*expected)[0].data<float>();
  EXPECT_EQ(TextOf((*got)[0].data<float>()), TextOf(numbers));
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::isnan((*judged)[0].data<float>()[i]), std::isnan(numbers[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, LoweredNan, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint
