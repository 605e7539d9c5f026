// Training programs of the reference, float and quantized by its own transpiler: each step on the
// executor and on the interpreter, from the same state, gives the same loss and the same state.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/runtime/reference/made_up_feeds.h"
#include "tests/runtime/reference/reference_network.h"
#include "tests/testing/reference_data.h"

namespace fixpoint::executor {
namespace {

struct Network {
  std::string name;  // in models/generated, without "-train_main"
  int64_t batch;
  std::string quantized =
      "";  // how the reference's own transpiler has quantized it; "": not at all
  // The tolerance of the loss and of each state, over the larger of 1 and its largest element.
  // Noise of 3e-7 in the weights moves gradients of a batch norm of two images by 4e-4 on the
  // interpreter itself.
  double tolerance = 1e-3;
  // A code that noise flips flips more after it, and the same noise moves the loss by 4e-3 and
  // gradients by a quarter: then the loss alone is compared.
  bool is_chaotic = false;
  uint32_t steps = 2;
  // Whether it has parameters whose gradients are 0 but for noise, because what they add is the
  // same for all that a softmax or a normalization compares: their steps are of noise.
  bool has_idle_parameters = false;
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name << network.quantized;
}

double LossDistance(const Program& main, const std::vector<std::string>& fetches, uint32_t step,
                    Scopes* scopes) {
  const auto interpreter = MakeBackend(BackendKind::kReference, main, &scopes->interpreter);
  const auto executor = Executor::Create(main, &scopes->executor);
  EXPECT_TRUE(interpreter.ok() && executor.ok()) << executor.status();
  const auto expected = (*interpreter)->Run({}, fetches, step);
  const auto got = (*executor)->Run({}, fetches, step);
  EXPECT_TRUE(expected.ok() && got.ok()) << got.status();
  return Distance(expected->front(), got->front());
}

// How far apart the steps are that both made with a state, as a share of the interpreter's: 1 where
// the executor made none. Sums over elements: a gradient that is but noise has either sign, and an
// Adam step of full length.
double StepDistance(const Tensor& before, const Tensor& executor, const Tensor& interpreter) {
  double apart = 0;
  double step = 0;
  double magnitude = 0;
  for (int64_t i = 0; i < before.size(); ++i) {
    const double at = interpreter.data<float>()[i];
    apart += std::fabs(executor.data<float>()[i] - at);
    step += std::fabs(at - before.data<float>()[i]);
    magnitude += std::fabs(at);
  }
  // Where there is no step there is the rounding of what was computed again.
  if (step == 0 && apart <= 1e-6 * magnitude) return 0;
  return apart == 0 ? 0 : apart / step;
}

void ExpectTheSameSteps(const Scope& before, const Scopes& after) {
  constexpr double kMostApart = 0.05;
  for (const auto& [name, value] : before) {
    const Tensor& tensor = std::get<Tensor>(value);
    if (tensor.dtype() != VarType::FP32) continue;
    const double distance =
        StepDistance(tensor, **after.executor.Find(name), **after.interpreter.Find(name));
    EXPECT_LT(distance, kMostApart) << name;
  }
}

class ReferenceNetworks : public testing::TestWithParam<Network> {};

TEST_P(ReferenceNetworks, StepAsOnTheInterpreter) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const auto [startup, main, loss] =
      reference::LoadReferenceNetwork(GetParam().name, GetParam().quantized);
  Scopes scopes;
  EXPECT_EQ(RunOnBoth(startup, {}, 0, 1e-6, &scopes), "");
  reference::InitialiseQuantizers(main, &scopes.interpreter);
  reference::MakeUpFeeds(main, GetParam().batch, &scopes.interpreter);
  for (uint32_t step = 0; step < GetParam().steps; ++step) {
    const Scope before = CopiesOf(scopes.interpreter).interpreter;
    scopes = CopiesOf(before);
    if (GetParam().is_chaotic) {
      EXPECT_LT(LossDistance(main, {loss}, step, &scopes), GetParam().tolerance) << step;
    } else {
      EXPECT_EQ(RunOnBoth(main, {loss}, step, GetParam().tolerance, &scopes), "") << step;
      if (!GetParam().has_idle_parameters) ExpectTheSameSteps(before, scopes);
    }
  }
}

const Network kNetworks[] = {
    {"paddle262/lenet-adam", 2},
    {"paddle262/lenet-adam", 2, "-act_abs_max-w_abs_max_paddle_quantized"},
    {"paddle262/lenet-adam", 2,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
    {"paddle262/lenet-adam", 2, "-act_range_abs_max-w_abs_max_paddle_quantized"},
    {"paddle262/resnet20_cifar-momentum_l2", 2},
    {"paddle262/resnet20_cifar-momentum_l2", 2,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized", 1e-2,
     /*is_chaotic=*/true},
    {"fluid185/digits_conv-adam", 2},
    {"fluid185/digits_conv-adam", 2, "-QuantizeTranspiler-act_abs_max_paddle_quantized"},
    {"fluid185/digits_conv-adam", 2,
     "-QuantizeTranspiler-act_moving_average_abs_max_paddle_quantized"},
    {"fluid185/digits_conv-adam", 2, "-QuantizeTranspiler-act_range_abs_max_paddle_quantized"},
    {"fluid185/fit_a_line-sgd", 4},
    {"fluid185/resnet20_cifar-momentum_piecewise_l2", 2, "", 1e-2},
    {"fluid185/sentiment_conv-adagrad", 2},
    {"fluid185/sentiment_conv-adagrad", 2,
     "-QuantizeTranspiler-act_moving_average_abs_max_paddle_quantized"},
    {"fluid185/word2vec-sgd", 2},
    {"fluid185/word2vec-sgd", 2, "-QuantizeTranspiler-act_abs_max_paddle_quantized"},
    {"paddle262/while_rnn-sgd", 2},
    {"paddle262/while_rnn-sgd", 2, "-act_abs_max-w_abs_max_paddle_quantized"},
    {"paddle262/word2vec-adagrad", 2},
    {"paddle262/textconv-lamb", 2},
    {"paddle262/textconv-lamb", 2,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
    {"paddle262/bert_mini-adamw_clip", 1, "", 1e-3, /*is_chaotic=*/false, /*steps=*/1,
     /*has_idle_parameters=*/true},
    {"paddle262/bert_mini-adamw_clip", 1,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized", 1e-2,
     /*is_chaotic=*/true, /*steps=*/1},
    {"paddle262/mobilenet_v3_small-rmsprop_l2", 1, "", 1e-3, /*is_chaotic=*/false, /*steps=*/1,
     /*has_idle_parameters=*/true},
    {"paddle262/mobilenet_v1-momentum_l2", 1, "", 1e-3, /*is_chaotic=*/true, /*steps=*/1},
};

INSTANTIATE_TEST_SUITE_P(
    Networks, ReferenceNetworks, testing::ValuesIn(kNetworks),
    [](const testing::TestParamInfo<Network>& info) {
      return absl::StrReplaceAll(info.param.name + info.param.quantized, {{"/", "_"}, {"-", "_"}});
    });

// With images of 224 x 224: a step takes the interpreter minutes.
TEST(LargeNetworks, TrainOnTheExecutor) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const auto [startup, main, loss] =
      reference::LoadReferenceNetwork("paddle262/vgg16-nesterov_clip");
  Scope scope;
  const auto initialise = Executor::Create(startup, &scope);
  ASSERT_TRUE(initialise.ok()) << initialise.status();
  ASSERT_TRUE((*initialise)->Run({}, {}, 0).ok());
  reference::MakeUpFeeds(main, /*batch=*/1, &scope);
  const auto executor = Executor::Create(main, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto before = (*executor)->Run({}, {loss}, 0);
  ASSERT_TRUE(before.ok()) << before.status();
  const auto after = (*executor)->Run({}, {loss}, 0);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_LT(after->front().data<float>()[0], before->front().data<float>()[0]);
}

}  // namespace
}  // namespace fixpoint::executor
