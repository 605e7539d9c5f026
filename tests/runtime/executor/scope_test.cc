// What a run leaves in the scope, and what it does when the scope has changed.

#include "runtime/scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// Variables that a run would have made are not there when it did not come to their op.
TEST(ScopeOfARun, LacksWhatAnErrorPrevented) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var early f32[2,2] persistable
      var late f32[1] persistable
      scale(X=table) -> (Out=early) {scale=2.0}
      lookup_table_v2(W=table, Ids=ids) -> (Out=rows)
      mean(X=rows) -> (Out=late)
    })");
  Scope scope = *ParseParameters("ids i64[1] 5\ntable f32[2,2] 1 2 3 4\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_EQ((*executor)->Run({}, {}, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(PrintParameters(scope), "ids i64[1] 5\ntable f32[2,2] 1 2 3 4\n");
  scope.Set("ids", Tensor::FromValues<int64_t>({1}, {1}));
  ASSERT_EQ((*executor)->Run({}, {}, 1).status(), absl::OkStatus());
  EXPECT_EQ(PrintParameters(scope),
            "early f32[2,2] 2 4 6 8\nids i64[1] 1\nlate f32[1] 3.5\ntable f32[2,2] 1 2 3 4\n");
}

// Values may be set between runs, also with other dimensions.
TEST(ScopeOfARun, IsPlannedAnewForOtherTypes) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var w f32[2] persistable
      scale(X=w) -> (Out=y) {scale=2.0}
    })");
  Scope scope = *ParseParameters("w f32[2] 1 2\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  ASSERT_TRUE((*executor)->Run({}, {"y"}, 0).ok());
  scope.Set("w", Tensor::FromValues<float>({3}, {1, 2, 3}));
  const auto longer = (*executor)->Run({}, {"y"}, 1);
  ASSERT_TRUE(longer.ok()) << longer.status();
  EXPECT_EQ((*longer)[0].data<float>(), absl::MakeConstSpan({2.0f, 4.0f, 6.0f}));
  scope = Scope();
  EXPECT_EQ((*executor)->Run({}, {"y"}, 2).status().code(), absl::StatusCode::kFailedPrecondition);
}

// A scope that was set as often as an earlier one is still a different scope.
TEST(ScopeOfARun, IsFoundAnewWhereAnotherWasMovedInto) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var w f32[2] persistable
      scale(X=w) -> (Out=y) {scale=2.0}
    })");
  Scope scope = *ParseParameters("w f32[2] 1 2\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  ASSERT_TRUE((*executor)->Run({}, {"y"}, 0).ok());
  Scope other = *ParseParameters("w f32[2] 10 20\n", "other");
  scope = std::move(other);
  const auto run = (*executor)->Run({}, {"y"}, 1);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)[0].data<float>(), absl::MakeConstSpan({20.0f, 40.0f}));
}

// In the scope and in fetches; plans know none.
TEST(Scalars, AreScalarsWhereTheyAreDeclaredSo) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var rate f32[] persistable
      var loss f32[]
      fill_constant() -> (Out=rate) {shape=ints[], dtype=5, value=0.5}
      mean(X=x) -> (Out=loss)
    })");
  Scope scope = *ParseParameters("x f32[2] 1 2\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (uint32_t step = 0; step < 2; ++step) {
    const auto run = (*executor)->Run({}, {"loss"}, step);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE((*run)[0].dims().empty());
    EXPECT_EQ(PrintParameters(scope), "rate f32[] 0.5\nx f32[2] 1 2\n");
  }
}

// A plan holds kernels and packed weights, so the plans for the least recent shapes are dropped.
TEST(Plans, OfTheLastShapesAreKept) {
  const Program program = ParsedProgram("relu(X=x) -> (Out=y)");
  Scope scope;
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int64_t size = 1; size <= 100; ++size) {
    const Tensor x = *Tensor::Allocate(VarType::FP32, {size});
    ASSERT_TRUE((*executor)->Run({{"x", &x}}, {"y"}, 0).ok());
  }
  const std::string plans = (*executor)->PlanText();
  EXPECT_EQ(plans.find("f32[1] "), std::string::npos) << plans;
  for (const int64_t size : {90, 100}) {
    EXPECT_NE(plans.find(absl::StrCat("f32[", size, "] ")), std::string::npos) << plans;
  }
}

}  // namespace
}  // namespace fixpoint::executor
