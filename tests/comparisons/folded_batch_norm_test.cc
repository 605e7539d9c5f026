// Networks whose batch norm was folded while they trained: simulated = portable = lowered, and
// their weights are codes without a batch norm after them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"

namespace fixpoint {
namespace {

using ::testing::IsEmpty;

void ExpectLoweredToWhatTrainingSaw(Network network, const std::string& config) {
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto forms = TrainForms(std::move(network), absl::StrCat("fold_batch_norm: true ", config));
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul"}), IsEmpty());
  for (const Program* program : {&(*forms)->simulated, &(*forms)->portable.program}) {
    for (const Op& op : program->ops()) EXPECT_NE(op.type(), "batch_norm");
  }
  const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

// The three steps of training are before, or after, the step from which the running statistics
// stand.
class FoldedBatchNorm
    : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(FoldedBatchNorm, IsLoweredToWhatTrainingSaw) {
  const auto& [net, weights, schedule] = GetParam();
  ExpectLoweredToWhatTrainingSaw(BuildNetwork(net, /*batch=*/4),
                                 absl::StrCat("weights { ", weights, " } ", schedule));
}

constexpr char kFrozen[] = "schedule { freeze_batch_norm_from_step: 2 }";

INSTANTIATE_TEST_SUITE_P(
    Networks, FoldedBatchNorm,
    testing::Values(
        std::tuple("small_separable", "quantizer: 'channel_wise_abs_max'", ""),
        std::tuple("small_separable", "quantizer: 'abs_max' granularity: PER_TENSOR", kFrozen),
        std::tuple("small_separable", "quantizer: 'channel_wise_lsq' form: FUSED bits: 4", kFrozen),
        std::tuple("small_separable", "quantizer: 'tqt' form: FUSED granularity: PER_TENSOR", ""),
        std::tuple("resnet20", "quantizer: 'abs_max' granularity: PER_TENSOR", "")));

// A bias before the batch norm, which the norm takes out again.
TEST(FoldedBatchNormOfBiases, IsLoweredToWhatTrainingSaw) {
  for (const char* schedule : {"", kFrozen}) {
    ExpectLoweredToWhatTrainingSaw(
        BuildNetwork("small_separable", /*batch=*/4, Training::kMomentum, /*image_size=*/0,
                     AfterConvolution::kBiasAndBatchNorm),
        schedule);
  }
}

}  // namespace
}  // namespace fixpoint
