// Training programs of the reference run: its startup programs, then some steps on one batch.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/op_schema.h"
#include "proto/program.h"
#include "proto/program_file.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "tests/runtime/reference/made_up_feeds.h"
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

Program Load(const std::string& path) {
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *Program::Create(std::move(loaded->program), path.substr(path.rfind('/') + 1));
}

// The variable whose gradient the backward pass begins with.
std::string LossOf(const Program& program) {
  for (const Op& op : program.block(0).ops()) {
    if (op.role() == (kBackward | kLoss) && op.type() == "fill_constant") {
      const absl::string_view gradient = op.Output("Out")->name();
      return std::string(gradient.substr(0, gradient.size() - strlen(kGradientSuffix)));
    }
  }
  return "";
}

class ReferenceTraining : public testing::TestWithParam<Network> {};

TEST_P(ReferenceTraining, RunsAndLearnsItsBatch) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string stem = absl::StrCat("models/generated/", GetParam().name);
  const std::string file = GetParam().quantized + ".pdmodel";
  // Passes of 2.x leave the startup program as it is.
  const std::string quantized_startup = ReferencePath(stem + "-train_startup" + file);
  const Program startup =
      Load(quantized_startup.empty() ? ReferencePath(stem + "-train_startup.pdmodel")
                                     : quantized_startup);
  const Program main = Load(ReferencePath(stem + "-train_main" + file));
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
    const auto fetched = interpreter->Run({}, {LossOf(main)}, step);
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
