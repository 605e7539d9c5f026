// Plans and runs: what is planned for a program, and what a run promises.

#include "runtime/executor/executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/program.h"
#include "runtime/guarded_call.h"
#include "runtime/random.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return tensor;
}

std::vector<std::string> StepsOf(const Plan& plan) {
  std::vector<std::string> steps;
  for (const Step& step : plan.steps) steps.push_back(step.name);
  return steps;
}

// A convolution of a relu's output, both inputs quantized, and its gradients.
constexpr char kQuantized[] = R"(program version=2006002
  block 0 {
    var x f32[-1,8,9,9]
    var w f32[16,8,3,3] persistable
    relu(X=x) -> (Out=r)
    fake_quantize_abs_max(X=r) -> (Out=rq, OutScale=rs) {bit_length=9}
    fake_dequantize_max_abs(X=rq, Scale=rs) -> (Out=rd) {max_range=255.0}
    fake_channel_wise_quantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8, quant_axis=0}
    fake_channel_wise_dequantize_max_abs(X=wq, Scales=ws) -> (Out=wd) {quant_bits=[8], quant_axis=0}
    conv2d(Input=rd, Filter=wd) -> (Output=y)
    relu(X=y) -> (Out=z)
    relu_grad(Out=z, Out@GRAD=z) -> (X@GRAD=dy)
    conv2d_grad(Input=rd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw)
  })";

class QuantizedConvolution : public testing::Test {
 protected:
  std::unique_ptr<Executor> Make(int threads = 1) {
    ExecutorOptions options;
    options.threads = threads;
    auto made = Executor::Create(program_, &scope_, options);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  const Program program_ = ParsedProgram(kQuantized);
  const Tensor x_ = Drawn({4, 8, 9, 9}, 1);
  const std::vector<Feed> feeds_ = {{"x", &x_}};
  Scope scope_;

  void SetUp() override { scope_.Set("w", Drawn({16, 8, 3, 3}, 2)); }
};

// Codes are dequantized only when the backward pass reads them.
TEST_F(QuantizedConvolution, RunsOnIntegersAndDequantizesForItsGradient) {
  const auto executor = Make();
  const auto forward = executor->PlanOf(feeds_, {"y"});
  ASSERT_TRUE(forward.ok()) << forward.status();
  EXPECT_EQ(absl::StrJoin(StepsOf(**forward), "\n"),
            "relu\n"
            "find range\n"
            "fake_quantize_abs_max\n"
            "find range\n"
            "fake_channel_wise_quantize_abs_max\n"
            "to channels last\n"
            "pack weights\n"
            "conv2d on integers\n"
            "to row major");
  const auto backward = executor->PlanOf(feeds_, {"dw"});
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_EQ(absl::StrJoin(StepsOf(**backward), "\n"),
            "relu\n"
            "find range\n"
            "fake_quantize_abs_max\n"
            "find range\n"
            "fake_channel_wise_quantize_abs_max\n"
            "to channels last\n"
            "pack weights\n"
            "conv2d on integers + relu\n"
            "relu_grad\n"
            "dequantize\n"
            "conv2d_grad of filters");
}

// The accumulators are exact, so the order of summation does not matter.
TEST_F(QuantizedConvolution, HasTheSameBitsOnOneThreadAndOnTwo) {
  const auto one = Make(1)->Run(feeds_, {"y"}, 0);
  const auto two = Make(2)->Run(feeds_, {"y"}, 0);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ((*one)[0].bytes(), (*two)[0].bytes());
}

// Executors share nothing but tables that are made once.
TEST_F(QuantizedConvolution, HasTheSameBitsBesideAnotherOne) {
  const auto alone = Make(2)->Run(feeds_, {"y", "dw"}, 0);
  ASSERT_TRUE(alone.ok()) << alone.status();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Scope scope;
      scope.Set("w", Drawn({16, 8, 3, 3}, 2));
      const auto executor = Executor::Create(program_, &scope, {/*seed=*/0, /*threads=*/2});
      ASSERT_TRUE(executor.ok()) << executor.status();
      for (uint32_t step = 0; step < 5; ++step) {
        const auto run = (*executor)->Run(feeds_, {"y", "dw"}, step);
        ASSERT_TRUE(run.ok()) << run.status();
        EXPECT_EQ((*run)[0].bytes(), (*alone)[0].bytes());
        EXPECT_EQ((*run)[1].bytes(), (*alone)[1].bytes());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(QuantizedConvolution, FollowsTheScope) {
  const auto executor = Make();
  const auto before = executor->Run(feeds_, {"y"}, 0);
  scope_.Set("w", Drawn({16, 8, 3, 3}, 3));
  const auto after = executor->Run(feeds_, {"y"}, 1);
  const auto expected = Make()->Run(feeds_, {"y"}, 1);
  ASSERT_TRUE(before.ok() && after.ok() && expected.ok());
  EXPECT_NE((*before)[0].bytes(), (*after)[0].bytes());
  EXPECT_EQ((*after)[0].bytes(), (*expected)[0].bytes());
}

TEST_F(QuantizedConvolution, IsPlannedAnewForOtherShapes) {
  const auto executor = Make();
  const Tensor smaller = Drawn({1, 8, 9, 9}, 1);
  const std::vector<Feed> feeds = {{"x", &smaller}};
  const auto large = executor->Run(feeds_, {"y"}, 0);
  const auto small = executor->Run(feeds, {"y"}, 0);
  const auto again = executor->Run(feeds_, {"y"}, 0);
  ASSERT_TRUE(large.ok() && small.ok() && again.ok());
  EXPECT_EQ((*small)[0].dims(), (std::vector<int64_t>{1, 16, 7, 7}));
  EXPECT_EQ((*large)[0].bytes(), (*again)[0].bytes());
}

TEST_F(QuantizedConvolution, ProfilesItsSteps) {
  ExecutorOptions options;
  options.profile = true;
  auto executor = Executor::Create(program_, &scope_, options);
  ASSERT_TRUE(executor.ok());
  ASSERT_TRUE((*executor)->Run(feeds_, {"y"}, 0).ok());
  const std::string profile = (*executor)->ProfileText();
  EXPECT_NE(profile.find("conv2d on integers <"), std::string::npos) << profile;
  EXPECT_NE(profile.find("neither products nor bound by memory"), std::string::npos) << profile;
  EXPECT_NE(profile.find("in steps that read integers"), std::string::npos) << profile;
  EXPECT_EQ(Make()->ProfileText(), "");
}

TEST(Executor, WritesAStepOverWhatItReadsLast) {
  const Program program = ParsedProgram(
      "relu(X=x) -> (Out=a)\nsigmoid(X=a) -> (Out=b)\n"
      "tanh(X=b) -> (Out=c)\n");
  Scope scope;
  const Tensor x = Drawn({1000}, 1);
  const std::vector<Feed> feeds = {{"x", &x}};
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  const auto plan = (*executor)->PlanOf(feeds, {"c"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->arena_bytes, 4032);  // one of them, whole cache lines
}

// Values that are read from the scope stay as they are unless their variables are persistable;
// persistable ones are there afterwards, even if they were held as codes or as an alias.
TEST(Executor, KeepsWhatPersistsAndNothingElse) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[2]
      var codes f32[2] persistable
      var same f32[2] persistable
      scale(X=x) -> (Out=x) {scale=2.0}
      fake_quantize_abs_max(X=x) -> (Out=codes, OutScale=s) {bit_length=8}
      assign(X=x) -> (Out=same)
    })");
  Scope scope = *ParseParameters("x f32[2] 1 -0.5\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  for (uint32_t step = 0; step < 2; ++step) {
    const auto run = (*executor)->Run({}, {}, step);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(PrintParameters(scope), "codes f32[2] 127 -64\nsame f32[2] 2 -1\nx f32[2] 1 -0.5\n");
  }
}

// A scalar is one number, whatever was fed before it.
TEST(Executor, PlansAnewForAScalar) {
  const Program program = ParsedProgram("relu(X=x) -> (Out=y)");
  Scope scope;
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  const Tensor three = Drawn({3}, 1);
  const Tensor scalar = Drawn({}, 1);
  ASSERT_TRUE((*executor)->Run({{"x", &three}}, {"y"}, 0).ok());
  const auto one = (*executor)->Run({{"x", &scalar}}, {"y"}, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ((*one)[0].size(), 1);
}

struct Refusal {
  const char* program;
  const char* error;
};

TEST(Executor, SaysWhatItDoesNotRun) {
  const Refusal refusals[] = {
      {"adamax(X=x, Y=y) -> (Out=z)",
       "the executor does not run op types adamax (block 0, op 0)"},
      {R"(
        block 0 {
          var y f32[1]
          var c bool[1]
          conditional_block(Cond=c, Input=[y]) -> (Out=y) {sub_block=block(1), is_scalar_condition=true}
          conditional_block(Cond=c, Input=[y]) -> (Out=y) {sub_block=block(1), is_scalar_condition=true}
        }
        block 1 parent=0 {
          relu(X=y) -> (Out=y)
        }
      )",
       "block 0, op 1 (conditional_block): runs block 1, and so does block 0, op 0 "
       "(conditional_block); the executor runs blocks that one op runs"},
      {"relu(X=absent) -> (Out=z)",
       "block 0, op 0 (relu): \"absent\" has no value; want it fed, initialised by the startup "
       "program, or written by an op before"},
      {"relu(X=x) -> (Out=y)",
       "fetch \"z\" has no value; want a variable of block 0 that is fed, initialised or written"},
      {"relu(X=x, Y=y) -> (Out=z)",
       "block 0, op 0 (relu): the op has no input Y; want no \"y\" there"},
      {"mul(X=x, Y=x) -> (Out=z)",
       "block 0, op 0 (mul): X is [2, 3] and Y [2, 3]; want matrices that can be multiplied"},
  };
  for (const auto& [text, error] : refusals) {
    const Program program = ParsedProgram(text);
    Scope scope = *ParseParameters("x f32[2,3] 1 2 3 4 5 6\ny f32[1] 1\n", "scope");
    const auto executor = Executor::Create(program, &scope);
    const absl::Status status =
        executor.ok() ? (*executor)->Run({}, {"z"}, 0).status() : executor.status();
    EXPECT_EQ(status.message(), error);
  }
}

// No exception of the standard library or oneDNN leaves a run.
TEST(RunSteps, GivesWhatAStepThrowsAsItsError) {
  const Program program = ParsedProgram("var x f32[1]\nvar y f32[1]\nrelu(X=x) -> (Out=y)\n");
  const auto run = [&](std::function<void()> thrower) {
    Plan plan;
    Step step;
    step.op = program.block(0).ops().begin().operator->();
    step.run = [&](const StepContext&) {
      thrower();
      return absl::OkStatus();
    };
    plan.steps.push_back(step);
    return RunSteps(plan, StepContext({}, RunState()));
  };
  EXPECT_EQ(
      run([] { throw std::bad_alloc(); }),
      absl::FailedPreconditionError("block 0, op 0 (relu): there is no memory for its outputs"));
  EXPECT_EQ(run([] { throw KernelError("oneDNN failed in a run: so it did"); }),
            absl::UnimplementedError("block 0, op 0 (relu): oneDNN failed in a run: so it did"));
  EXPECT_EQ(run([] { throw std::out_of_range("at"); }),
            absl::InternalError("block 0, op 0 (relu): an exception: at"));
}

// Each fits, and all together do not.
TEST(Executor, NamesWhatTakesTheMostMemory) {
  constexpr int kValues = 4096;
  const int64_t size = (int64_t{256} << 20) / 4;
  std::string ops = "program version=2006002\nblock 0 {\n";
  std::vector<std::string> fetches;
  for (int i = 0; i < kValues; ++i) {
    absl::StrAppend(&ops, "fill_constant() -> (Out=x", i, ") {shape=[", size + (i == 7 ? 16 : 0),
                    "L], dtype=5, value=1.0}\n");
    fetches.push_back(absl::StrCat("x", i));
  }
  const Program program = ParsedProgram(ops + "}\n");
  Scope scope;
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_EQ((*executor)->Run({}, fetches, 0).status(),
            absl::FailedPreconditionError(
                "block 0, op 7 (fill_constant): there is no memory for 1099511627840 bytes of "
                "intermediate values; \"x7\" [67108880] takes the most"));
}

// The plan finds the op that writes it, whichever it is.
TEST(Executor, RefusesToWriteAScopeThatIsShared) {
  const Program program = ParsedProgram(R"(
    var x f32[2]
    var w f32[2] persistable
    elementwise_add(X=w, Y=x) -> (Out=w)
  )");
  Scope scope = *ParseParameters("w f32[2] 1 2\n", "scope");
  ExecutorOptions options;
  options.scope_is_shared = true;
  const auto executor = Executor::Create(program, &scope, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const Tensor x = Tensor::FromValues<float>({2}, {1, 2});
  EXPECT_EQ((*executor)->Run({{"x", &x}}, {"w"}, 0).status(),
            absl::InvalidArgumentError("block 0, op 0 (elementwise_add): writes the parameter "
                                       "\"w\", which other runs read; want a program of "
                                       "inference"));
  EXPECT_EQ(PrintParameters(scope), "w f32[2] 1 2\n");
}

}  // namespace
}  // namespace fixpoint::executor
