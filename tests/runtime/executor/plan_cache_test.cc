#include "runtime/executor/plan_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/schedule.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// From step 2 on y is twice x, and before it x + 1.
constexpr char kProgram[] = R"(program version=2006002
  block 0 {
    var x f32[-1,2]
    var steps i64[1] persistable
    scale(X=x) -> (Out=twice) {scale=2.0}
    scale(X=x) -> (Out=more) {bias=1.0}
    select_from_step(X=twice, Before=more, Step=steps) -> (Out=y) {from_step=2L}
    relu(X=more) -> (Out=z)
  })";

class PlanCacheTest : public testing::Test {
 protected:
  // How many plans there are after one for such a run, or the error.
  std::string PlansAfter(const std::vector<std::string>& fetches, int64_t rows, int64_t step) {
    Tensor steps = *Tensor::Allocate(VarType::INT64, {1});
    steps.mutable_data<int64_t>()[0] = step;
    scope_.Set("steps", std::move(steps));
    Tensor x = *Tensor::Allocate(VarType::FP32, {rows, 2});
    const auto run = plans_.FindOrPlan({{"x", &x}}, fetches);
    if (!run.ok()) return std::string(run.status().message());
    return absl::StrCat(plans_.runs().size(), " of ", plans_.program_plans().size());
  }

  const Program program_ = ParsedProgram(kProgram);
  const ExecutorOptions options_;
  Scope scope_;
  PlanCache plans_{program_, scope_, *Schedule::Of(program_), options_};
};

TEST_F(PlanCacheTest, SharesWhatDoesNotDependOnShapes) {
  EXPECT_EQ(PlansAfter({"y"}, 3, 0), "1 of 1");
  EXPECT_EQ(PlansAfter({"y"}, 4, 0), "2 of 1");
  EXPECT_EQ(PlansAfter({"y"}, 3, 1), "2 of 1");
}

TEST_F(PlanCacheTest, SharesNothingBetweenFetches) {
  EXPECT_EQ(PlansAfter({"y"}, 3, 0), "1 of 1");
  EXPECT_EQ(PlansAfter({"z"}, 3, 0), "2 of 2");
  EXPECT_EQ(PlansAfter({"z", "y"}, 3, 0), "3 of 3");
  EXPECT_EQ(PlansAfter({"z"}, 4, 0), "4 of 3");
  EXPECT_EQ(PlansAfter({"y"}, 3, 0), "4 of 3");
}

// What only the other phase reads is not computed.
TEST_F(PlanCacheTest, SharesNothingBetweenPhases) {
  EXPECT_EQ(PlansAfter({"y"}, 3, 1), "1 of 1");
  EXPECT_EQ(PlansAfter({"y"}, 3, 2), "2 of 2");
  EXPECT_EQ(PlansAfter({"y"}, 4, 5), "3 of 2");
  EXPECT_EQ(PlansAfter({"y"}, 3, 0), "3 of 2");
  std::vector<std::string> steps;
  for (const auto& run : plans_.runs()) {
    for (const Step& step : run->rest.plan.steps) steps.push_back(step.name);
  }
  EXPECT_EQ(steps.size(), 3);
}

// The oldest makes room for the next.
TEST_F(PlanCacheTest, KeepsFewPlans) {
  std::vector<std::string> fetches = {"y"};
  for (int i = 0; i < 20; ++i) {
    PlansAfter(fetches, 3, 0);
    fetches.push_back("z");
  }
  EXPECT_EQ(PlansAfter({"y"}, 3, 0), "16 of 16");
}

}  // namespace
}  // namespace fixpoint::executor
