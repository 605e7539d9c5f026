// Batches whose images pass the first steps a few at a time.

#include "runtime/executor/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/profile.h"
#include "runtime/kernels/deferred_primitives.h"
#include "runtime/scope.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

Tensor Waves(std::vector<int64_t> dims, float phase) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = std::sin(phase + 0.7f * static_cast<float>(i));
  }
  return tensor;
}

Tensor Codes(std::vector<int64_t> dims) {
  Tensor tensor = *Tensor::Allocate(VarType::INT8, std::move(dims));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<int8_t>()[i] = static_cast<int8_t>(37 * i % 251);
  }
  return tensor;
}

// The largest difference between tensors of one size; NaN where an element is.
double LargestDifference(const Tensor& a, const Tensor& b) {
  const absl::Span<const float> x = a.data<float>();
  const absl::Span<const float> y = b.data<float>();
  double largest = 0;
  for (size_t i = 0; i < x.size() && !std::isnan(largest); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

std::vector<std::string> NamesOf(const std::vector<Step>& steps) {
  std::vector<std::string> names;
  for (const Step& step : steps) names.push_back(step.name);
  return names;
}

// For 16 images the convolution reads and writes 9 MiB.
class BatchInPieces : public testing::Test {
 protected:
  BatchInPieces() {
    scope_.Set("w", Waves({32, 4, 3, 3}, 0.1f));
    scope_.Set("one", Waves({1, 4, 3, 3}, 0.1f));
    scope_.Set("v", Waves({32, 32, 1, 1}, 0.2f));
    scope_.Set("c", Codes({32, 4, 3, 3}));
    scope_.Set("d", Codes({32, 32, 1, 1}));
    scope_.Set("steps", Waves({32}, 0.3f));
    scope_.Set("f", Waves({32768, 3}, 0.4f));
  }

  // With a store parameters do not change, as in inference.
  std::unique_ptr<Executor> With(const std::string& ops, ConstantStore* store,
                                 bool profile = false) {
    programs_.push_back(std::make_unique<Program>(ParsedProgram(
        absl::StrCat("program version=2006002\nblock 0 {\n",
                     "var x f32[-1,4,64,64]\nvar b f32[32]\n"
                     "var one f32[1,4,3,3] persistable\nvar w f32[32,4,3,3] persistable\n"
                     "var v f32[32,32,1,1] persistable\n"
                     "var c i8[32,4,3,3] persistable\nvar d i8[32,32,1,1] persistable\n"
                     "var steps f32[32] persistable\n"
                     "var f f32[32768,3] persistable\n",
                     ops, "}\n"))));
    ExecutorOptions options;
    options.constants = store;
    options.profile = profile;
    return std::move(*Executor::Create(*programs_.back(), &scope_, options));
  }

  std::vector<Tensor> Run(Executor& executor, const std::vector<std::string>& fetches,
                          int64_t batch = 16, float phase = 0.5f) {
    const Tensor x = Waves({batch, 4, 64, 64}, phase);
    const Tensor b = Waves({32}, 0.6f);
    const Feed feeds[] = {{"x", &x}, {"b", &b}};
    auto fetched = executor.Run(feeds, fetches, 0);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    return fetched.ok() ? std::move(*fetched) : std::vector<Tensor>();
  }

  // Inference gives the same values as a run without pieces.
  void ExpectAlike(const std::string& ops, const std::vector<std::string>& fetches,
                   int64_t batch = 16) {
    const auto inference = With(ops, &store_);
    const auto whole = With(ops, nullptr);
    for (const float phase : {0.5f, 0.9f}) {
      const std::vector<Tensor> got = Run(*inference, fetches, batch, phase);
      const std::vector<Tensor> expected = Run(*whole, fetches, batch, phase);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(got[i].dims(), expected[i].dims());
        EXPECT_LT(LargestDifference(got[i], expected[i]), 1e-4);
      }
    }
  }

  std::string PlanTextOf(const std::string& ops, int64_t batch = 16) {
    const auto executor = With(ops, &store_);
    Run(*executor, {"out"}, batch);
    return executor->PlanText();
  }

  std::vector<std::unique_ptr<Program>> programs_;
  Scope scope_;
  ConstantStore store_;
};

constexpr char kNetwork[] = R"(
    conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
    relu(X=y) -> (Out=r)
    pool2d(X=r) -> (Out=p) {pooling_type="max", ksize=[2, 2], strides=[2, 2]}
    mul(X=p, Y=f) -> (Out=out)
)";
constexpr char kPieces[] = "for each of 2 pieces of the batch";

TEST_F(BatchInPieces, PassesTheFirstStepsAndThenTheRestAsAWhole) {
  const auto executor = With(kNetwork, &store_);
  const Tensor x = Waves({16, 4, 64, 64}, 0.5f);
  const Feed feeds[] = {{"x", &x}};
  const Plan& rest = **executor->PlanOf(feeds, {"out"});
  EXPECT_THAT(NamesOf(rest.steps), ElementsAre("to row major", "mul"));
  EXPECT_THAT(NamesOf(rest.constant_steps), ElementsAre("pack weights"));
  EXPECT_THAT(executor->PlanText(), HasSubstr(kPieces));
  ExpectAlike(kNetwork, {"out"});
}

TEST_F(BatchInPieces, AreAllInTheProfile) {
  const auto executor = With(kNetwork, &store_, /*profile=*/true);
  Run(*executor, {"out"});
  std::vector<std::string> steps;
  double bytes = 0;
  for (const ProfileRow& row : executor->ProfileRows()) {
    steps.push_back(absl::StrCat(row.steps, " ", row.name.substr(0, row.name.find(" <"))));
    bytes += row.bytes;
  }
  EXPECT_THAT(steps, UnorderedElementsAre("2 conv2d + relu", "2 pool2d", "2 to channels last",
                                          "1 to row major", "1 mul"));
  const Tensor x = Waves({16, 4, 64, 64}, 0.5f);
  const Feed feeds[] = {{"x", &x}};
  EXPECT_DOUBLE_EQ(bytes, executor->BytesMovedBy(feeds, {"out"}).value());
}

// Primitives are made only for the steps of both plans that remain.
TEST_F(BatchInPieces, MakesEachPrimitiveOnce) {
  const auto made_for = [this](int64_t batch) {
    const auto executor = With(kNetwork, &store_);
    const Tensor x = Waves({batch, 4, 64, 64}, 0.5f);
    const Feed feeds[] = {{"x", &x}};
    const int64_t before = kernels::PrimitivesMade();
    EXPECT_TRUE(executor->PlanOf(feeds, {"out"}).ok());
    EXPECT_EQ(executor->PlanText().find(kPieces) != std::string::npos, batch == 16);
    return kernels::PrimitivesMade() - before;
  };
  const int64_t made = made_for(4);
  EXPECT_GT(made, 2);
  EXPECT_EQ(made_for(16), made);
}

TEST_F(BatchInPieces, LeavesWhatIsFetchedOfTheFirstSteps) {
  ExpectAlike(kNetwork, {"p", "out", "y"});
}

TEST_F(BatchInPieces, LeavesWhatTheRestReads) {
  constexpr char kResidual[] = R"(
      conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
      conv2d(Input=y, Filter=v) -> (Output=z)
      softmax(X=z) -> (Out=s)
      elementwise_add(X=s, Y=y) -> (Out=out)
  )";
  EXPECT_THAT(PlanTextOf(kResidual), HasSubstr("pieces of the batch"));
  ExpectAlike(kResidual, {"out"});
}

TEST_F(BatchInPieces, ChangesNoBitOfSumsOfCodes) {
  constexpr char kCodes[] = R"(
      integer_quantize(X=x) -> (Out=q) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=127}
      integer_conv2d(Input=q, Filter=c, Scales=steps) -> (Output=y) {paddings=[1, 1], epilogue=["relu", "multiply"], epilogue_a=[0.0, 0.01], epilogue_b=[0.0, 0.0], out_dtype=20, out_range=2.0, out_largest_code=255}
      integer_conv2d(Input=y, Filter=d, Scales=steps, Operands=y) -> (Output=out) {epilogue=["add_uint8", "relu", "multiply"], epilogue_a=[0.3, 0.0, 0.01], epilogue_b=[0.0, 0.0, 0.0], out_dtype=20, out_range=2.0, out_largest_code=255}
  )";
  constexpr int64_t kBatch = 80;
  EXPECT_THAT(PlanTextOf(kCodes, kBatch), HasSubstr("pieces of the batch"));
  const std::vector<Tensor> got = Run(*With(kCodes, &store_), {"out"}, kBatch);
  const std::vector<Tensor> expected = Run(*With(kCodes, nullptr), {"out"}, kBatch);
  EXPECT_EQ(got[0].bytes(), expected[0].bytes());
}

TEST_F(BatchInPieces, IsOfAsManyImagesAsDivideTheBatch) {
  EXPECT_THAT(PlanTextOf(kNetwork, 17), HasSubstr("for each of 17 pieces of the batch"));
  ExpectAlike(kNetwork, {"out"}, 17);
}

TEST_F(BatchInPieces, IsNotWhereTheCacheHoldsIt) {
  EXPECT_THAT(PlanTextOf(kNetwork, 4), Not(HasSubstr("pieces")));
}

TEST_F(BatchInPieces, IsNotWhereParametersMayChange) {
  const auto training = With(kNetwork, nullptr);
  Run(*training, {"out"});
  EXPECT_THAT(training->PlanText(), Not(HasSubstr("pieces")));
}

TEST_F(BatchInPieces, IsNotWhereImagesMeet) {
  constexpr char kAcross[] = R"(
      softmax(X=x) -> (Out=s) {axis=0}
      conv2d(Input=s, Filter=w) -> (Output=out) {paddings=[1, 1]}
  )";
  EXPECT_THAT(PlanTextOf(kAcross), Not(HasSubstr("pieces")));
  ExpectAlike(kAcross, {"out"});
}

TEST_F(BatchInPieces, IsNotWhereAFeedIsNoImage) {
  constexpr char kFedBias[] = R"(
      conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
      elementwise_add(X=y, Y=b) -> (Out=out) {axis=1}
  )";
  EXPECT_THAT(PlanTextOf(kFedBias), Not(HasSubstr("pieces")));
  ExpectAlike(kFedBias, {"out"});
}

// The first is written elsewhere, because it lies otherwise; the second into its variable's tensor.
TEST_F(BatchInPieces, LeavesWhatPersists) {
  ExpectAlike(R"(
      var y f32[16,32,64,64] persistable
      conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
      relu(X=y) -> (Out=out)
  )",
              {"out", "y"});
  ExpectAlike(R"(
      var z f32[160,1,64,64] persistable
      conv2d(Input=x, Filter=one) -> (Output=z) {paddings=[1, 1]}
      relu(X=z) -> (Out=out)
  )",
              {"out", "z"}, 160);
}

}  // namespace
}  // namespace fixpoint::executor
