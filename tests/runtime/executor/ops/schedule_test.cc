// What begins at a step, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// At step 2 the value is another, and the observer follows no more.
TEST(Schedule, BeginsAtItsStep) {
  for (const char* steps_before : {"0", "1", "5"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var steps i64[1] persistable
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        increment(X=steps) -> (Out=steps) {step=1.0}
        fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=scale, InState=state,
          InAccum=accum, Step=steps) -> (Out=q, OutScale=scale, OutState=state, OutAccum=accum) {
          bit_length=4, test_from_step=2L}
        select_from_step(X=q, Before=x, Step=steps) -> (Out=y) {from_step=2L}
        select_from_step_grad(Step=steps, Out@GRAD=dy) -> (X@GRAD=dq, Before@GRAD=dx) {
          from_step=2L}
      })",
                            absl::StrCat(Drawn("x", {3, 4}), Drawn("dy", {3, 4}),
                                         "scale f32[1] 0.5\nstate f32[1] 1\naccum f32[1] 0.5\n",
                                         "steps i64[1] ", steps_before, "\n"),
                            1e-5, {"y", "dq", "dx"}),
              "")
        << steps_before;
  }
}

// A counter at the end of its type, and increments that are not whole numbers.
TEST(Schedule, BeginsWhereItsCounterSaysSo) {
  for (const char* step : {"1.0", "-2.5", "1e30", "nan"}) {
    for (const char* counted : {"3", "9223372036854775807", "-9223372036854775808"}) {
      EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var n i64[1] persistable
        increment(X=n) -> (Out=n) {step=)",
                                           step, R"(}
        select_from_step(X=x, Step=n) -> (Out=y) {from_step=2L}
      })"),
                              absl::StrCat("x f32[1] 5\nn i64[1] ", counted, "\n"), 0, {"y"}),
                "")
          << step << " " << counted;
    }
  }
}

// The offsets are those of the input that is selected, also where the other one is computed.
TEST(Schedule, SelectsOffsets) {
  for (const char* fetch : {"y", "b"}) {
    for (const char* step : {"1", "2"}) {
      EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        relu(X=x) -> (Out=a)
        relu(X=z) -> (Out=b)
        select_from_step(X=a, Before=b, Step=n) -> (Out=y) {from_step=2L}
      })",
                              absl::StrCat("x f32[3,1] lod={0,1,3} 1 2 3\n"
                                           "z f32[3,1] lod={0,2,3} 4 5 6\nn i64[1] ",
                                           step, "\n"),
                              0, {"y", fetch}),
                "")
          << step;
    }
  }
}

// The interpreter computes it, and reads both.
TEST(Schedule, MayBeComputedOnce) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        abs(X=x) -> (Out=a)
        sqrt(X=x) -> (Out=b)
        select_from_step(X=b, Before=a, Step=n) -> (Out=y) {
          from_step=2L, fixpoint.computed_once=true}
      })",
                          "x f32[1] 4\nn i64[1] 2\n", 0, {"y"}),
            "");
}

// What only the other input needs is not computed.
TEST(Schedule, RunsWhatItSelects) {
  const Program program = ParsedProgram(
      "program version=2006002\nblock 0 {\n"
      "abs(X=x) -> (Out=a)\n"
      "sqrt(X=x) -> (Out=b)\n"
      "select_from_step(X=b, Before=a, Step=n) -> (Out=y) {from_step=2L}\n}\n");
  Scope scope = *ParseParameters("x f32[1] 4\nn i64[1] 0\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const int64_t step : {1, 2}) {
    const Tensor fed = Tensor::FromValues<int64_t>({1}, {step});
    const auto run = (*executor)->Run({{"n", &fed}}, {"y"}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)[0].data<float>()[0], step == 1 ? 4 : 2);
    const auto plan = (*executor)->PlanOf({{"n", &fed}}, {"y"});
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ((*plan)->steps.size(), 1);
    EXPECT_EQ((*plan)->steps[0].name, step == 1 ? "abs" : "sqrt");
    const auto both = (*executor)->Run({{"n", &fed}}, {"a", "y"}, 0);
    ASSERT_TRUE(both.ok()) << both.status();
    EXPECT_EQ((*both)[0].data<float>()[0], 4);
  }
}

TEST(Schedule, GoesByACounterThatIsFed) {
  const Program program = ParsedProgram(
      "program version=2006002\nblock 0 {\n"
      "select_from_step(X=x, Step=n) -> (Out=y) {from_step=2L}\n}\n");
  Scope scope = *ParseParameters("x f32[1] 5\nn i64[1] 0\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const int64_t step : {1, 2, 1}) {
    const Tensor fed = Tensor::FromValues<int64_t>({1}, {step});
    const auto run = (*executor)->Run({{"n", &fed}}, {"y"}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)[0].data<float>()[0], step < 2 ? 0 : 5);
  }
}

}  // namespace
}  // namespace fixpoint::executor
