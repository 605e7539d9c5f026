#include "runtime/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/inference_model.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

constexpr char kNet[] = R"(program version=2006002
block 0 {
var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,4]
var z f32[-1,3]
var w f32[4,3] persistable
feed(X=feed) -> (Out=z) {col=1}
feed(X=feed) -> (Out=x) {col=0}
mul(X=x, Y=w) -> (Out=y)
elementwise_add(X=y, Y=z) -> (Out=sum)
relu(X=sum) -> (Out=out)
fetch(X=out) -> (Out=fetch) {col=0}
}
)";

Tensor Waves(std::vector<int64_t> dims, float phase) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = std::sin(phase + 0.7f * static_cast<float>(i));
  }
  return tensor;
}

Scope Weights() {
  Scope scope;
  scope.Set("w", Waves({4, 3}, 0.4f));
  return scope;
}

std::vector<Tensor> Inputs(int64_t batch) {
  std::vector<Tensor> inputs;
  inputs.push_back(Waves({batch, 4}, 0.1f));
  inputs.push_back(Waves({batch, 3}, 0.2f));
  return inputs;
}

// The outputs for Inputs(batch).
std::vector<float> Expected(int64_t batch) {
  const std::vector<Tensor> inputs = Inputs(batch);
  const Tensor w = Waves({4, 3}, 0.4f);
  std::vector<float> out;
  for (int64_t i = 0; i < batch; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      double sum = inputs[1].data<float>()[i * 3 + j];
      for (int64_t k = 0; k < 4; ++k) {
        sum += double{inputs[0].data<float>()[i * 4 + k]} * w.data<float>()[k * 3 + j];
      }
      out.push_back(static_cast<float>(std::max(sum, 0.0)));
    }
  }
  return out;
}

void ExpectOutput(const Tensor& output, int64_t batch) {
  ASSERT_EQ(output.dims(), (std::vector<int64_t>{batch, 3}));
  EXPECT_THAT(std::vector<float>(output.data<float>().begin(), output.data<float>().end()),
              testing::Pointwise(testing::FloatNear(1e-6f), Expected(batch)));
}

std::unique_ptr<Predictor> MakePredictor() {
  return std::move(*Predictor::Create(ParsedProgram(kNet), Weights()));
}

TEST(Predictor, RunsWhatIsFedInTheOrderOfColumns) {
  const auto predictor = MakePredictor();
  EXPECT_THAT(predictor->inputs(), testing::ElementsAre("x", "z"));
  EXPECT_THAT(predictor->outputs(), testing::ElementsAre("out"));
  const auto outputs = predictor->Run(Inputs(2));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectOutput((*outputs)[0], 2);
}

TEST(Predictor, TakesBatchesAsTheyCome) {
  const auto predictor = MakePredictor();
  std::vector<Tensor> outputs;
  for (const int64_t batch : {1, 5, 1, 2}) {
    ASSERT_EQ(predictor->Run(Inputs(batch), &outputs), absl::OkStatus());
    ExpectOutput(outputs[0], batch);
  }
}

TEST(Predictor, WritesOutputsOverThatFit) {
  const auto predictor = MakePredictor();
  std::vector<Tensor> outputs;
  ASSERT_EQ(predictor->Run(Inputs(2), &outputs), absl::OkStatus());
  const uint8_t* const memory = outputs[0].bytes().data();
  outputs[0].mutable_data<float>()[0] = -1;
  ASSERT_EQ(predictor->Run(Inputs(2), &outputs), absl::OkStatus());
  EXPECT_EQ(outputs[0].bytes().data(), memory);
  ExpectOutput(outputs[0], 2);
}

TEST(Predictor, RunsForManyThreadsAtOnce) {
  const auto predictor = MakePredictor();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&predictor, i] {
      for (int run = 0; run < 20; ++run) {
        const int64_t batch = 1 + (run + i) % 3;
        const auto outputs = predictor->Run(Inputs(batch));
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        ExpectOutput((*outputs)[0], batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto alone = MakePredictor();
  for (const int64_t batch : {1, 2, 3}) ASSERT_TRUE(alone->Run(Inputs(batch)).ok());
  EXPECT_GT(alone->constant_bytes(), 0);
  EXPECT_EQ(predictor->constant_bytes(), alone->constant_bytes());
}

TEST(Predictor, LoadsWhatWasSaved) {
  const TemporaryFolder folder;
  ASSERT_EQ(SaveInferenceModel(ParsedProgram(kNet).Proto(), Weights(), folder.Path("net")),
            absl::OkStatus());
  const auto predictor = Predictor::Load(folder.Path("net"));
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  const auto outputs = (*predictor)->Run(Inputs(3));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectOutput((*outputs)[0], 3);
}

TEST(Predictor, SaysHowManyInputsThereAre) {
  EXPECT_EQ(MakePredictor()->Run({}).status(),
            absl::InvalidArgumentError("there are 0 inputs; want 2, as many as are fed"));
}

TEST(Predictor, NamesAnInputOfAnotherShape) {
  std::vector<Tensor> inputs = Inputs(2);
  inputs[0] = Waves({2, 5}, 0);
  EXPECT_EQ(MakePredictor()->Run(inputs).status(),
            absl::InvalidArgumentError(
                "block 0, op 2 (mul): X is [2, 5] and Y [4, 3]; want matrices that can be "
                "multiplied"));
}

TEST(Predictor, NamesAParameterThatIsMissing) {
  const auto predictor = Predictor::Create(ParsedProgram(kNet), Scope());
  ASSERT_FALSE(predictor.ok());
  EXPECT_EQ(predictor.status(),
            absl::FailedPreconditionError("parameter \"w\" is not in the scope; want what the "
                                          "program was saved with"));
}

TEST(Predictor, RefusesAProgramThatTrains) {
  const auto predictor = Predictor::Create(
      ParsedProgram("var w f32[2] persistable\nsgd(Param=w, Grad=w, LearningRate=w) -> "
                    "(ParamOut=w)\n"),
      Weights());
  EXPECT_EQ(predictor.status(),
            absl::InvalidArgumentError(
                "block 0, op 0 (sgd): writes the parameter \"w\"; want a program of inference, as "
                "transpile --mode=test and --mode=freeze make it"));
}

TEST(Predictor, RefusesAnOpThatWritesAParameterInTestMode) {
  const auto predictor = Predictor::Create(
      ParsedProgram("var w f32[2] persistable\ndropout(X=w) -> (Out=w) {is_test=true}\n"),
      Weights());
  EXPECT_EQ(predictor.status(),
            absl::InvalidArgumentError(
                "block 0, op 0 (dropout): writes the parameter \"w\"; want a program of inference, "
                "as transpile --mode=test and --mode=freeze make it"));
}

// The op is in test mode, and yet follows the statistics of each batch.
TEST(Predictor, RefusesStatisticsThatAreTrainedInTestMode) {
  const auto create = [](const std::string& attributes) {
    return Predictor::Create(ParsedProgram(R"(program version=2006002
block 0 {
var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,2]
var w f32[2] persistable
var mean f32[2] persistable
feed(X=feed) -> (Out=x) {col=0}
batch_norm(X=x, Scale=w, Bias=w, Mean=mean, Variance=w) -> (Y=y, MeanOut=mean, VarianceOut=v,
  SavedMean=m, SavedVariance=d) {is_test=true, )" +
                                           attributes + R"(}
fetch(X=y) -> (Out=fetch) {col=0}
}
)"),
                             *ParseParameters("w f32[2] 1 2\nmean f32[2] 3 4\n", "scope"))
        .status();
  };
  EXPECT_TRUE(create("trainable_statistics=false").ok());
  EXPECT_TRUE(create("trainable_statistics=true, use_global_stats=true").ok());
  EXPECT_EQ(create("trainable_statistics=true"),
            absl::InvalidArgumentError(
                "block 0, op 1 (batch_norm): writes the parameter \"mean\"; want a program of "
                "inference, as transpile --mode=test and --mode=freeze make it"));
}

// As in a test program: each run finds the range of a weight anew.
TEST(Predictor, RunsWhatWritesAPersistableVariableBeforeItIsRead) {
  const auto predictor = Predictor::Create(ParsedProgram(R"(program version=2006002
block 0 {
var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,4]
var w f32[4,3] persistable
var range f32[1] persistable
feed(X=feed) -> (Out=x) {col=0}
fake_quantize_dequantize_abs_max(X=w) -> (Out=v, OutScale=range) {bit_length=8, round_type=0}
mul(X=x, Y=v) -> (Out=y)
fetch(X=range) -> (Out=fetch) {col=0}
}
)"),
                                           Weights());
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  std::vector<Tensor> inputs;
  inputs.push_back(Waves({2, 4}, 0.1f));
  const auto outputs = (*predictor)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  float range = 0;
  const Tensor weights = Waves({4, 3}, 0.4f);
  for (const float weight : weights.data<float>()) range = std::max(range, std::abs(weight));
  EXPECT_EQ((*outputs)[0].data<float>()[0], range);
}

// What a conditional may leave as it was is a parameter, though no op reads that by itself.
TEST(Predictor, RefusesAParameterThatAConditionalWrites) {
  const auto predictor = Predictor::Create(ParsedProgram(R"(program version=2006002
block 0 {
var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,4]
var c bool[1]
var w f32[4] persistable
var scope step_scopes
feed(X=feed) -> (Out=x) {col=0}
feed(X=feed) -> (Out=c) {col=1}
conditional_block(Cond=c, Input=[]) -> (Out=w, Scope=scope) {sub_block=block(1), is_scalar_condition=true}
elementwise_add(X=x, Y=w) -> (Out=y)
fetch(X=y) -> (Out=fetch) {col=0}
}
block 1 parent=0 {
fill_constant() -> (Out=w) {shape=[4], value=1.0, dtype=5}
}
)"),
                                           Weights());
  ASSERT_FALSE(predictor.ok());
  EXPECT_THAT(std::string(predictor.status().message()),
              testing::HasSubstr("writes the parameter \"w\""));
}

TEST(Predictor, RunsBetweenVariablesThatAreNamed) {
  PredictorOptions options;
  options.inputs = {"z", "x"};
  options.outputs = {"sum", "y"};
  const auto predictor = Predictor::Create(ParsedProgram(kNet), Weights(), options);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  std::vector<Tensor> inputs;
  inputs.push_back(Tensor::FromValues<float>({1, 3}, {1, 2, 3}));
  inputs.push_back(Tensor::FromValues<float>({1, 4}, {0, 0, 0, 0}));
  const auto outputs = (*predictor)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].data<float>(), absl::MakeConstSpan({1.0f, 2.0f, 3.0f}));
  EXPECT_EQ((*outputs)[1].data<float>(), absl::MakeConstSpan({0.0f, 0.0f, 0.0f}));
}

TEST(Predictor, RefusesAProgramWithoutOutputs) {
  const auto predictor = Predictor::Create(ParsedProgram("relu(X=x) -> (Out=y)\n"), Scope());
  EXPECT_EQ(predictor.status(),
            absl::FailedPreconditionError("the program has no fetch; want one for each output, as "
                                          "transpile --mode=freeze makes them"));
}

}  // namespace
}  // namespace fixpoint
