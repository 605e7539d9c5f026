// Training programs of the reference run: its startup programs, then some steps on one batch.

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "tests/runtime/reference/made_up_feeds.h"
#include "tests/runtime/reference/reference_network.h"
#include "tests/testing/reference_data.h"

namespace fixpoint::reference {
namespace {

struct Network {
  std::string name;  // in models/generated, without "-train_main"
  int64_t batch;
  int steps = 3;
  // One batch by heart, in that many steps: not where dropout weighs more than a step, or where the
  // moving averages of ranges are still far from what they follow.
  bool learns = true;
  // How the reference's own transpiler has quantized it; "": not at all.
  std::string quantized = "";
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name << network.quantized;
}

class ReferenceTraining : public testing::TestWithParam<Network> {};

TEST_P(ReferenceTraining, RunsAndLearnsItsBatch) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const auto [startup, main, loss] = LoadReferenceNetwork(GetParam().name, GetParam().quantized);
  Scope scope;
  absl::StatusOr<Interpreter> initializer =
      Interpreter::Create(startup, &scope, {Precision::kAsDeclared, /*seed=*/1});
  ASSERT_TRUE(initializer.ok()) << initializer.status();
  const auto initialised = initializer->Run({}, {}, 0);
  ASSERT_TRUE(initialised.ok()) << initialised.status();
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(main, &scope, {Precision::kAsDeclared, /*seed=*/1});
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();

  InitialiseQuantizers(main, &scope);
  MakeUpFeeds(main, GetParam().batch, &scope);
  std::vector<float> losses;
  for (int step = 0; step < GetParam().steps; ++step) {
    const auto fetched = interpreter->Run({}, {loss}, step);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    losses.push_back(fetched->front().data<float>()[0]);
    EXPECT_TRUE(std::isfinite(losses.back())) << "step " << step;
  }
  if (GetParam().learns) {
    EXPECT_LT(losses.back(), losses.front());
  }
}

// Images of 224 x 224 take the loops some ten seconds a step, and vgg16, which is not here,
// minutes.
const Network kNetworks[] = {
    {"fluid185/fit_a_line-sgd", 4},
    {"fluid185/digits_conv-adam", 2},
    {"fluid185/resnet20_cifar-momentum_piecewise_l2", 2},
    {"fluid185/sentiment_conv-adagrad", 2},
    {"fluid185/word2vec-sgd", 4},
    {"paddle262/bert_mini-adamw_clip", 2},
    {"paddle262/lenet-adam", 2},
    {"paddle262/mobilenet_v1-momentum_l2", 1, 2},
    {"paddle262/mobilenet_v3_small-rmsprop_l2", 1},
    {"paddle262/resnet20_cifar-momentum_l2", 2},
    {"paddle262/textconv-lamb", 2, 3, /*learns=*/false},
    {"paddle262/while_rnn-sgd", 2},
    {"paddle262/word2vec-adagrad", 4},
    {"fluid185/digits_conv-adam", 2, 3, true, "-QuantizeTranspiler-act_abs_max_paddle_quantized"},
    {"fluid185/digits_conv-adam", 2, 3, true,
     "-QuantizeTranspiler-act_moving_average_abs_max_paddle_quantized"},
    {"fluid185/digits_conv-adam", 2, 3, true,
     "-QuantizeTranspiler-act_range_abs_max_paddle_quantized"},
    {"fluid185/sentiment_conv-adagrad", 2, 3, true,
     "-QuantizeTranspiler-act_moving_average_abs_max_paddle_quantized"},
    {"fluid185/word2vec-sgd", 4, 3, true, "-QuantizeTranspiler-act_abs_max_paddle_quantized"},
    {"paddle262/bert_mini-adamw_clip", 2, 3, /*learns=*/false,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
    {"paddle262/lenet-adam", 2, 3, true, "-act_abs_max-w_abs_max_paddle_quantized"},
    {"paddle262/lenet-adam", 2, 3, true,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
    {"paddle262/lenet-adam", 2, 3, true, "-act_range_abs_max-w_abs_max_paddle_quantized"},
    {"paddle262/resnet20_cifar-momentum_l2", 2, 3, true,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
    {"paddle262/textconv-lamb", 2, 3, /*learns=*/false,
     "-act_moving_average_abs_max-w_channel_wise_abs_max_paddle_quantized"},
};

INSTANTIATE_TEST_SUITE_P(
    Networks, ReferenceTraining, testing::ValuesIn(kNetworks),
    [](const testing::TestParamInfo<Network>& info) {
      return absl::StrReplaceAll(info.param.name + info.param.quantized, {{"/", "_"}, {"-", "_"}});
    });

}  // namespace
}  // namespace fixpoint::reference
