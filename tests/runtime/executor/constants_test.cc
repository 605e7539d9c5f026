// Where parameters do not change, what is computed from them alone is computed once, and executors
// share it.

#include "runtime/executor/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using testing::ElementsAre;

Tensor Waves(std::vector<int64_t> dims, float phase) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = std::sin(phase + 0.7f * static_cast<float>(i)) + 1.5f;
  }
  return tensor;
}

std::vector<std::string> NamesOf(const std::vector<Step>& steps) {
  std::vector<std::string> names;
  for (const Step& step : steps) names.push_back(step.name);
  return names;
}

class Constants : public testing::Test {
 protected:
  Constants() {
    scope_.Set("w", Waves({8, 4, 3, 3}, 0.1f));
    for (const char* name : {"s", "b", "m", "v"}) scope_.Set(name, Waves({8}, 0.2f));
  }

  std::unique_ptr<Executor> With(const std::string& program, ConstantStore* store) {
    programs_.push_back(std::make_unique<Program>(ParsedProgram(absl::StrCat(
        "program version=2006002\nblock 0 {\n"
        "var w f32[8,4,3,3] persistable\nvar s f32[8] persistable\nvar b f32[8] persistable\n"
        "var m f32[8] persistable\nvar v f32[8] persistable\nvar rate f32[1] persistable\n",
        program, "}\n"))));
    ExecutorOptions options;
    options.constants = store;
    return std::move(*Executor::Create(*programs_.back(), &scope_, options));
  }

  std::vector<Tensor> Run(Executor& executor, std::vector<std::string> fetches, int64_t batch = 2) {
    const Tensor x = Waves({batch, 4, 5, 5}, 0.3f);
    const Feed feeds[] = {{"x", &x}};
    auto fetched = executor.Run(feeds, fetches, 0);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    return fetched.ok() ? std::move(*fetched) : std::vector<Tensor>();
  }

  const Plan& PlanOf(Executor& executor) {
    const Tensor x = Waves({2, 4, 5, 5}, 0.3f);
    const Feed feeds[] = {{"x", &x}};
    return **executor.PlanOf(feeds, {"out"});
  }

  std::vector<std::unique_ptr<Program>> programs_;
  Scope scope_;
  ConstantStore store_;
};

constexpr char kNormed[] = R"(
    fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8, quant_axis=0}
    conv2d(Input=x, Filter=wq) -> (Output=y) {paddings=[1, 1]}
    batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv) {is_test=true}
    relu(X=n) -> (Out=out)
)";

TEST_F(Constants, AreWhatParametersAloneDecide) {
  const auto executor = With(kNormed, &store_);
  const Plan& plan = PlanOf(*executor);
  EXPECT_THAT(NamesOf(plan.constant_steps),
              ElementsAre("find range", "fake_channel_wise_quantize_dequantize_abs_max",
                          "dequantize", "batch_norm factors", "pack weights"));
  EXPECT_THAT(NamesOf(plan.steps),
              ElementsAre("to channels last", "conv2d + batch_norm + relu", "to row major"));
}

TEST_F(Constants, ChangeNoBit) {
  const auto computing = With(kNormed, nullptr);
  const auto having = With(kNormed, &store_);
  const std::vector<Tensor> expected = Run(*computing, {"out", "wq"});
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> got = Run(*having, {"out", "wq"});
    EXPECT_EQ(got[0].bytes(), expected[0].bytes());
    EXPECT_EQ(got[1].bytes(), expected[1].bytes());
  }
}

TEST_F(Constants, AreSharedByExecutorsAndPlans) {
  const auto one = With(kNormed, &store_);
  Run(*one, {"out"});
  const int64_t bytes = store_.bytes();
  EXPECT_GE(bytes, int64_t{8 * 4 * 3 * 3 * sizeof(float)});
  auto other = With(kNormed, &store_);
  Run(*other, {"out"});
  Run(*other, {"out"}, /*batch=*/3);
  EXPECT_EQ(store_.bytes(), bytes);
}

TEST_F(Constants, LiveAsLongAsAnExecutorHasThem) {
  auto executor = With(kNormed, &store_);
  Run(*executor, {"out"});
  executor.reset();
  EXPECT_EQ(store_.bytes(), 0);
}

constexpr char kPlain[] = R"(
    conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
    relu(X=y) -> (Out=out)
)";

// Parameters do not change; one that does shows what reads it once more.
TEST_F(Constants, OfPackedWeightsAreTakenFromOtherShapes) {
  const auto executor = With(kPlain, &store_);
  const std::vector<Tensor> expected = Run(*With(kPlain, nullptr), {"out"}, /*batch=*/3);
  Run(*executor, {"out"});
  const absl::Span<float> w = std::get<Tensor>(*scope_.FindOrNull("w")).mutable_data<float>();
  std::fill(w.begin(), w.end(), 0.0f);
  EXPECT_EQ(Run(*executor, {"out"}, /*batch=*/3)[0].bytes(), expected[0].bytes());
  EXPECT_EQ(Run(*With(kPlain, &store_), {"out"}, /*batch=*/3)[0].bytes(), expected[0].bytes());
  scope_.Set("w", Waves({8, 4, 3, 3}, 0.9f));
  const std::vector<Tensor> anew = Run(*With(kPlain, nullptr), {"out"}, /*batch=*/3);
  EXPECT_EQ(Run(*executor, {"out"}, /*batch=*/3)[0].bytes(), anew[0].bytes());
}

TEST_F(Constants, AreOfTheParameterThatAnOpReads) {
  scope_.Set("u", Waves({8, 4, 3, 3}, 0.9f));
  const char kBoth[] = R"(
    var u f32[8,4,3,3] persistable
    conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
    conv2d(Input=x, Filter=u) -> (Output=z) {paddings=[1, 1]}
    elementwise_sub(X=y, Y=z) -> (Out=out)
)";
  const std::vector<Tensor> expected = Run(*With(kBoth, nullptr), {"out"}, /*batch=*/3);
  const auto executor = With(kBoth, &store_);
  Run(*executor, {"out"});
  EXPECT_EQ(Run(*executor, {"out"}, /*batch=*/3)[0].bytes(), expected[0].bytes());
}

TEST_F(Constants, AreSharedByThreadsThatRunOtherShapes) {
  constexpr int64_t kBatches = 12;
  std::vector<Tensor> expected;
  for (int64_t batch = 1; batch <= kBatches; ++batch) {
    expected.push_back(std::move(Run(*With(kPlain, nullptr), {"out"}, batch)[0]));
  }
  std::vector<std::unique_ptr<Executor>> executors;
  for (int i = 0; i < 2; ++i) executors.push_back(With(kPlain, &store_));
  std::vector<std::vector<Tensor>> got(executors.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < executors.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int64_t n = 0; n < kBatches; ++n) {
        const int64_t batch = i == 0 ? n + 1 : kBatches - n;
        got[i].push_back(std::move(Run(*executors[i], {"out"}, batch)[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t n = 0; n < kBatches; ++n) {
    EXPECT_EQ(got[0][n].bytes(), expected[n].bytes()) << n;
    EXPECT_EQ(got[1][n].bytes(), expected[kBatches - 1 - n].bytes()) << n;
  }
}

TEST_F(Constants, AreNotOfWhatTheProgramWrites) {
  scope_.Set("rate", Waves({1}, 0));
  const auto executor = With(R"(
      conv2d(Input=x, Filter=w) -> (Output=out) {paddings=[1, 1]}
      sgd(Param=w, Grad=w, LearningRate=rate) -> (ParamOut=w)
)",
                             &store_);
  const std::vector<Tensor> before = Run(*executor, {"out"});
  const std::vector<Tensor> after = Run(*executor, {"out"});
  EXPECT_NE(before[0].bytes(), after[0].bytes());
  EXPECT_TRUE(PlanOf(*executor).constant_steps.empty());
}

TEST_F(Constants, AreNotDrawn) {
  const auto executor = With(R"(
      dropout(X=w) -> (Out=dropped, Mask=mask)
      conv2d(Input=x, Filter=dropped) -> (Output=out) {paddings=[1, 1]}
)",
                             &store_);
  EXPECT_TRUE(PlanOf(*executor).constant_steps.empty());
}

TEST_F(Constants, FollowAScopeThatIsSetAnew) {
  const auto executor = With(kNormed, &store_);
  const std::vector<Tensor> before = Run(*executor, {"out"});
  scope_.Set("w", Waves({8, 4, 3, 3}, 0.9f));
  const std::vector<Tensor> expected = Run(*With(kNormed, nullptr), {"out"});
  const std::vector<Tensor> after = Run(*executor, {"out"});
  EXPECT_NE(before[0].bytes(), after[0].bytes());
  EXPECT_EQ(after[0].bytes(), expected[0].bytes());
}

}  // namespace
}  // namespace fixpoint::executor
