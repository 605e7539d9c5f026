// Simulated = portable = lowered = the reference interpreter's integers, for every way to find the
// ranges of activations and of weights, at 8 and 4 bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "ops/quantizer.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::IsEmpty;

struct Range {
  const char* name;
  const char* spec;
  int bits = 0;  // 0: those of the case
};

std::string Spec(const Range& range, int bits) {
  return absl::StrCat("{ ", range.spec, " bits: ", range.bits != 0 ? range.bits : bits, " }");
}

class Quantizers : public testing::TestWithParam<std::tuple<Range, Range, int>> {};

TEST_P(Quantizers, AreLoweredToWhatTrainingSaw) {
  const auto& [activations, weights, bits] = GetParam();
  const std::string config =
      absl::StrCat("activations ", Spec(activations, bits), " weights ", Spec(weights, bits));
  Network network = BuildNetwork("lenet5", /*batch=*/4);
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto forms = TrainForms(std::move(network), config);
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul", "pool2d"}), IsEmpty());
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

// A range that is found anew at every run cannot be frozen, so abs_max is not used for activations.
INSTANTIATE_TEST_SUITE_P(
    ActivationsAndWeights, Quantizers,
    testing::Combine(
        testing::Values(Range{"MovingAverage", "quantizer: 'moving_average_abs_max'"},
                        Range{"LargestOfAWindow", "quantizer: 'range_abs_max'"},
                        Range{"MeanOfAWindow", "quantizer: 'window_mean_abs_max'"},
                        Range{"Fixed",
                              "quantizer: 'fixed_abs_max' parameters { key: 'range' value: 3 }"},
                        Range{"Affine", "quantizer: 'moving_average_min_max'"},
                        Range{"Learned", "quantizer: 'lsq' form: FUSED"}),
        testing::Values(Range{"PerChannel", "quantizer: 'channel_wise_abs_max'"},
                        Range{"PerTensor", "quantizer: 'abs_max' granularity: PER_TENSOR"},
                        Range{"Affine", "quantizer: 'moving_average_min_max'"},
                        Range{"LearnedPerChannel", "quantizer: 'channel_wise_lsq' form: FUSED"},
                        Range{"LearnedPerTensor",
                              "quantizer: 'lsq' form: FUSED granularity: PER_TENSOR"}),
        testing::Values(8, 4)),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param).name, "Activations", std::get<1>(info.param).name,
                          "WeightsOf", std::get<2>(info.param), "Bits");
    });

// Each quantizer that is a text, at the bits that it is for.
constexpr char kLowActivations[] = "quantizer: 'lsq' form: FUSED";
constexpr char kTrainedMinMaxWeights[] =
    "quantizer: 'trained_min_max' form: FUSED granularity: PER_TENSOR";

INSTANTIATE_TEST_SUITE_P(
    Texts, Quantizers,
    testing::Values(
        std::tuple(Range{"Tqt", "quantizer: 'tqt' form: FUSED"},
                   Range{"Tqt", "quantizer: 'tqt' form: FUSED granularity: PER_TENSOR"}, 8),
        std::tuple(Range{"Tqt", "quantizer: 'tqt' form: FUSED"},
                   Range{"Tqt", "quantizer: 'tqt' form: FUSED granularity: PER_TENSOR"}, 3),
        std::tuple(Range{"Pact", "quantizer: 'pact' form: FUSED"},
                   Range{"Dorefa", "quantizer: 'dorefa' form: FUSED granularity: PER_TENSOR"}, 4),
        std::tuple(Range{"Pact", "quantizer: 'pact' form: FUSED"},
                   Range{"Dorefa", "quantizer: 'dorefa' form: FUSED granularity: PER_TENSOR"}, 2),
        std::tuple(Range{"Dorefa", "quantizer: 'dorefa_activation' form: FUSED"},
                   Range{"Dorefa", "quantizer: 'dorefa' form: FUSED granularity: PER_TENSOR"}, 3),
        std::tuple(Range{"Learned", kLowActivations},
                   Range{"BinaryPerChannel", "quantizer: 'channel_wise_binary' form: FUSED", 1}, 2),
        std::tuple(Range{"Learned", kLowActivations},
                   Range{"Ternary", "quantizer: 'ternary' form: FUSED granularity: PER_TENSOR"}, 2),
        std::tuple(Range{"TrainedMinMax", "quantizer: 'trained_min_max' form: FUSED"},
                   Range{"TrainedMinMax", kTrainedMinMaxWeights}, 8),
        std::tuple(Range{"TrainedMinMax", "quantizer: 'trained_min_max' form: FUSED"},
                   Range{"TrainedMinMax", kTrainedMinMaxWeights}, 4),
        std::tuple(Range{"LsqPlus", "quantizer: 'lsq_plus' form: FUSED"},
                   Range{"LearnedPerChannel", "quantizer: 'channel_wise_lsq' form: FUSED"}, 8),
        std::tuple(Range{"LsqPlus", "quantizer: 'lsq_plus' form: FUSED"},
                   Range{"LearnedPerChannel", "quantizer: 'channel_wise_lsq' form: FUSED"}, 3),
        std::tuple(Range{"Ewgs", "quantizer: 'ewgs' form: FUSED"},
                   Range{"EwgsPerChannel", "quantizer: 'channel_wise_ewgs' form: FUSED"}, 4),
        std::tuple(Range{"Learned", kLowActivations},
                   Range{"DampenedPerChannel", "quantizer: 'channel_wise_dampened' form: FUSED"},
                   3),
        std::tuple(Range{"Learned", kLowActivations},
                   Range{"FixedPerChannel",
                         "quantizer: 'channel_wise_frozen_oscillations' form: FUSED "
                         "parameters { key: 'rate' value: 0.5 } "
                         "parameters { key: 'threshold' value: 0.1 }"},
                   3),
        std::tuple(Range{"Learned", kLowActivations},
                   Range{"Grouped", "quantizer: 'channel_wise_grouped' form: FUSED"}, 4),
        std::tuple(Range{"Learned", kLowActivations, 8},
                   Range{"Grouped", "quantizer: 'channel_wise_grouped' form: FUSED"}, 3),
        std::tuple(
            Range{"Learned", kLowActivations},
            Range{"StochasticPerChannel", "quantizer: 'channel_wise_stochastic' form: FUSED"}, 4)),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param).name, "Activations", std::get<1>(info.param).name,
                          "WeightsOf", std::get<2>(info.param), "Bits");
    });

// The executor rounds these functions and sums otherwise than the interpreter, which freezing asks.
constexpr char kBent[] = R"(
quantizer bent "A range that a curve gives."
states:
  number_per_range() -> (Out=range) {trained=true, initial=0.7}
forward:
  exp(X=x) -> (Out=bent)
  scale(X=bent) -> (Out=moved) {scale=0.9, bias=-0.9}
  reduce_mean(X=moved) -> (Out=mean)
  elementwise_sub(X=moved, Y=mean) -> (Out=centred)
  tanh(X=range) -> (Out=curve)
  scale(X=curve) -> (Out=largest_value) {scale=0.3, bias=0.1}
  fake_quantize_dequantize_at_range(X=centred, InScale=largest_value) -> (Out=out)
quantizer curved of bent "The same range, of activations: no mean of a batch."
forward:
  tanh(X=range) -> (Out=curve)
  scale(X=curve) -> (Out=largest_value) {scale=0.3, bias=0.1}
  fake_quantize_dequantize_at_range(X=x, InScale=largest_value) -> (Out=out)
)";

TEST(Formulas, AreFrozenAsTheirFunctionsWereTrained) {
  QuantizerTable quantizers;
  auto read = ReadQuantizers(kBent, "bent.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  for (std::unique_ptr<Quantizer>& quantizer : *read) {
    ASSERT_TRUE(quantizers.Add(std::move(quantizer)).ok());
  }
  Network network = BuildNetwork("lenet5", /*batch=*/4);
  const Tensor images = RandomImages(network.image_dims, 100);
  TranspileOptions options;
  options.quantizers = &quantizers;
  const auto forms = TrainForms(std::move(network),
                                "activations { quantizer: 'curved' form: FUSED bits: 5 } "
                                "weights { quantizer: 'channel_wise_bent' form: FUSED bits: 5 }",
                                std::move(options));
  ASSERT_TRUE(forms.ok()) << forms.status();
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

// Codes of 9 to 16 bits, beside each other and beside those of a byte.
struct Widths {
  const char* name;
  const char* config;
};

class WideCodes : public testing::TestWithParam<Widths> {};

TEST_P(WideCodes, AreMultipliedAsTrainingSaw) {
  Network network = BuildNetwork("lenet5", /*batch=*/4);
  const Tensor images = RandomImages(network.image_dims, 100);
  TranspileOptions options;
  options.target = *LoadTarget("onednn_int8", QuantizerTable());
  options.target->mutable_activations()->set_signedness(QuantSpec::SIGNED);
  options.target->mutable_activation_abilities()->set_max_bits(16);
  options.target->mutable_weight_abilities()->set_max_bits(16);
  const auto forms = TrainForms(std::move(network), GetParam().config, std::move(options));
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul"}), IsEmpty());
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, WideCodes,
    testing::Values(
        Widths{"Of16Bits", "activations { bits: 16 } weights { bits: 16 }"},
        Widths{"Of16BitsWithWeightsOf8", "activations { bits: 16 } weights { bits: 8 }"},
        Widths{"Of8BitsWithWeightsOf12", "activations { bits: 8 } weights { bits: 12 }"},
        Widths{"OfOddBits", "activations { bits: 9 } weights { bits: 2 }"},
        Widths{"Learned",
               "activations { quantizer: 'lsq' form: FUSED bits: 10 } "
               "weights { quantizer: 'channel_wise_lsq' form: FUSED bits: 16 }"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
