#include "runtime/executor/cost.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/kernels/kernel_speeds.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// x [2,3] and w [3,4] give y [2,4], of which relu makes z.
class CostOfSteps : public testing::Test {
 protected:
  CostOfSteps()
      : program_(ParsedProgram("program version=2006002\nblock 0 {\n"
                               "mul(X=x, Y=w) -> (Out=y)\n"
                               "softmax(X=y) -> (Out=z)\n}\n")),
        scope_(*ParseParameters("w f32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12\nx f32[2,3] 1 2 3 4 5 6\n",
                                "scope")),
        executor_(*Executor::Create(program_, &scope_)),
        plan_(**executor_->PlanOf({}, {"z"})) {}

  const Step& StepNamed(absl::string_view name) const {
    for (const Step& step : plan_.steps) {
      if (step.name == name) return step;
    }
    ADD_FAILURE() << "no step " << name;
    return plan_.steps.front();
  }

  Program program_;
  Scope scope_;
  std::unique_ptr<Executor> executor_;
  const Plan& plan_;
};

TEST_F(CostOfSteps, AreOperationsOfProductsAndBytesOfBuffers) {
  EXPECT_EQ(CostOf(plan_, StepNamed("mul")).operations, 2 * (2 * 3 * 4));
  const Cost softmax = CostOf(plan_, StepNamed("softmax"));
  EXPECT_EQ(softmax.operations, 0);
  EXPECT_EQ(softmax.bytes, 4 * (2 * 4 + 2 * 4));
  EXPECT_FALSE(softmax.reads_codes);
}

TEST(CostOfProducts, IsOfTheIntegersThatAreRead) {
  const auto cost_of = [](int bits) {
    const std::string text = absl::StrCat(
        "fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=", bits,
        "}\nmatmul(X=q, Y=q) -> (Out=y) {transpose_Y=true}\n");
    const Program program = ParsedProgram("program version=2006002\nblock 0 {\n" + text + "}");
    Scope scope = *ParseParameters("x f32[2,3] 1 2 3 4 5 6\n", "scope");
    const std::unique_ptr<Executor> executor = *Executor::Create(program, &scope);
    const Plan& plan = **executor->PlanOf({}, {"y"});
    for (const Step& step : plan.steps) {
      if (step.operations > 0) return CostOf(plan, step);
    }
    return Cost();
  };
  for (const int bits : {8, 9, 16}) {
    const Cost cost = cost_of(bits);
    EXPECT_EQ(cost.operations, 2 * (2 * 3 * 2)) << bits;
    EXPECT_TRUE(cost.reads_codes) << bits;
    EXPECT_EQ(cost.are_wide, bits > 8) << bits;
  }
}

TEST_F(CostOfSteps, AddUpToThatOfARun) {
  double bytes = 0;
  for (const Step& step : plan_.steps) bytes += CostOf(plan_, step).bytes;
  EXPECT_EQ(BytesMoved(plan_), bytes);
  EXPECT_GE(bytes, 4 * (2 * 3 + 3 * 4 + 2 * 4) + 4 * (2 * 4 + 2 * 4));
}

TEST(Expectation, IsTheStartAndWhatTakesLonger) {
  kernels::KernelSpeeds speeds;
  speeds.float_operations = 1e9;
  speeds.integer_operations = 4e9;
  speeds.wide_operations = 2e9;
  speeds.bytes = 1e9;
  speeds.cached_bytes = 1e10;
  speeds.start = 1e-6;
  const struct {
    Cost cost;
    double seconds;
    Bound bound;
  } kCases[] = {
      {{/*operations=*/1e6, /*bytes=*/1e3, /*reads_codes=*/false}, 1.001e-3, Bound::kOperations},
      {{/*operations=*/1e6, /*bytes=*/1e3, /*reads_codes=*/true}, 0.251e-3, Bound::kOperations},
      {{/*operations=*/1e6, /*bytes=*/1e3, /*reads_codes=*/true, /*are_wide=*/true},
       0.501e-3,
       Bound::kOperations},
      {{/*operations=*/1e3, /*bytes=*/1e5, /*reads_codes=*/false}, 1.1e-5, Bound::kCache},
      {{/*operations=*/1e3, /*bytes=*/1e7, /*reads_codes=*/false}, 1.0001e-2, Bound::kMemory},
      {{/*operations=*/10, /*bytes=*/10, /*reads_codes=*/false}, 1.01e-6, Bound::kStart},
  };
  for (const auto& c : kCases) {
    const ExpectedTime time = Expect(c.cost, speeds);
    EXPECT_DOUBLE_EQ(time.seconds, c.seconds);
    EXPECT_EQ(time.bound, c.bound) << c.seconds;
  }
}

}  // namespace
}  // namespace fixpoint::executor
