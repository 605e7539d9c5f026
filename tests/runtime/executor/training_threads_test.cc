// Training on any number of threads gives the same bits, also on more threads than there are cores.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

struct Trained {
  std::string network;
  int64_t batch;
};

using Parameters = std::map<std::string, std::string>;

class TrainingThreads
    : public testing::TestWithParam<std::tuple<Trained, TrainedAs, BackwardPrecision>> {
 protected:
  // The bytes of what five steps leave.
  static Parameters ParametersOn(int threads) {
    const auto& [trained, trained_as, backward] = GetParam();
    TimedTrainer trainer(BuildNetwork(trained.network, trained.batch), trained_as,
                         /*profile=*/false, threads, backward);
    for (int step = 0; step < 5; ++step) trainer.Step();
    const TrainedNetwork network = trainer.Take();
    Parameters parameters;
    for (const auto& [name, value] : network.scope) {
      const absl::Span<const uint8_t> bytes = std::get<Tensor>(value).bytes();
      parameters[name].assign(bytes.begin(), bytes.end());
    }
    return parameters;
  }
};

TEST_P(TrainingThreads, GiveTheSameParameters) {
  const BackwardPrecision backward = std::get<2>(GetParam());
  if (!executor::CheckBackward(backward).ok()) GTEST_SKIP() << executor::CheckBackward(backward);
  const Parameters on_one = ParametersOn(1);
  for (const int threads : {2, 3, 4}) {
    Parameters on_several = ParametersOn(threads);
    std::string differing;
    for (const auto& [name, bytes] : on_one) {
      if (on_several[name] != bytes) absl::StrAppend(&differing, " ", name);
    }
    EXPECT_EQ(differing, "") << "on " << threads;
  }
}

std::string NameOf(const testing::TestParamInfo<TrainingThreads::ParamType>& info) {
  const auto& [trained, trained_as, backward] = info.param;
  return absl::StrCat(trained.network, "_", trained.batch,
                      trained_as == TrainedAs::kFloat ? "_float_" : "_quantized_",
                      BackwardPrecisionName(backward));
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TrainingThreads,
    testing::Combine(testing::Values(Trained{"lenet5", 32}, Trained{"resnet20", 1},
                                     Trained{"resnet20", 8}, Trained{"small_separable", 32},
                                     Trained{"up_down", 8}, Trained{"encoder", 32}),
                     testing::Values(TrainedAs::kFloat, TrainedAs::kQuantized),
                     testing::Values(BackwardPrecision::kFloat, BackwardPrecision::kBfloat16)),
    NameOf);

}  // namespace
}  // namespace fixpoint
