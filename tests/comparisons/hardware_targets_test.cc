// The same network through the targets of kinds of hardware (examples/targets): simulated =
// portable = lowered, and the numbers that are stored are those that the machine can hold.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "benchmarks/networks.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::ResultOf;

constexpr int kBatch = 4;

absl::StatusOr<TranspileOptions> OptionsFor(const std::string& target) {
  TranspileOptions options;
  ASSIGN_OR_RETURN(
      options.target,
      LoadTarget(absl::StrCat("examples/targets/", target, ".textproto"), QuantizerTable()));
  return options;
}

absl::StatusOr<std::unique_ptr<NetworkForms>> FormsOn(const std::string& target,
                                                      const std::string& network,
                                                      const std::string& config) {
  ASSIGN_OR_RETURN(TranspileOptions options, OptionsFor(target));
  return TrainForms(BuildNetwork(network, kBatch), config, std::move(options));
}

bool IsPowerOfTwo(float number) {
  int exponent = 0;
  return std::frexp(number, &exponent) == 0.5f;
}

// What ops of a type read in a slot, from the parameters.
std::vector<float> ParametersIn(const Program& program, const Scope& scope,
                                absl::string_view op_prefix, absl::string_view slot) {
  std::vector<float> numbers;
  for (const Op& op : program.block(0).ops()) {
    const Argument* const argument =
        absl::StartsWith(op.type(), op_prefix) ? op.Input(slot) : nullptr;
    if (argument == nullptr) continue;
    const Scope::Value* const value = scope.FindOrNull(argument->name());
    const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (tensor == nullptr || tensor->dtype() != VarType::FP32) continue;
    const absl::Span<const float> held = tensor->data<float>();
    numbers.insert(numbers.end(), held.begin(), held.end());
  }
  return numbers;
}

// The codes of weights, of the type T that holds them.
template <typename T>
std::vector<int> CodesOfWeights(const FrozenModel& portable, VarType::Type dtype) {
  std::vector<int> codes;
  for (const Variable* variable : portable.program.block(0).variables()) {
    const Scope::Value* const value = portable.scope.FindOrNull(variable->name());
    const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (tensor == nullptr || tensor->dtype() != dtype) continue;
    const absl::Span<const T> held = tensor->data<T>();
    codes.insert(codes.end(), held.begin(), held.end());
  }
  return codes;
}

struct Case {
  const char* name;
  const char* target;
  const char* network;
  const char* config;
};

class HardwareTarget : public testing::TestWithParam<Case> {};

TEST_P(HardwareTarget, ComputesWhatTrainingSaw) {
  const auto forms = FormsOn(GetParam().target, GetParam().network, GetParam().config);
  ASSERT_TRUE(forms.ok()) << forms.status();
  const Tensor images =
      RandomImages(BuildNetwork(GetParam().network, kBatch).image_dims, /*seed=*/100);
  const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, HardwareTarget,
    testing::Values(Case{"Fpga", "fpga_power_of_two", "lenet5", ""},
                    Case{"FpgaOfTrainedThresholds", "fpga_power_of_two", "lenet5",
                         "activations { quantizer: 'tqt' form: FUSED } "
                         "weights { quantizer: 'tqt' form: FUSED }"},
                    Case{"FpgaOfMeansOf4Bits", "fpga_power_of_two", "lenet5",
                         "activations { quantizer: 'window_mean_abs_max' bits: 4 } "
                         "weights { bits: 4 }"},
                    Case{"CoreOfWideSums", "core_int16_sums", "lenet5", ""},
                    Case{"CoreOfWideSumsOf12Bits", "core_int16_sums", "lenet5",
                         "rules { slot: 'Output' spec { bits: 12 } } "
                         "rules { op_type: 'mul' slot: 'Out' spec { bits: 10 } }"},
                    Case{"Dsp", "dsp_int16", "lenet5", ""}, Case{"Cpu", "cpu_int8", "lenet5", ""},
                    Case{"Npu", "npu_int4", "lenet5", ""},
                    // Codes of more bits than those of the spec, and a bias in their steps.
                    Case{"NpuOfGroups", "npu_int4", "lenet5",
                         "weights { quantizer: 'channel_wise_grouped' form: FUSED }"}),
    [](const auto& info) { return std::string(info.param.name); });

// Where all scales are powers of two and codes are rounded half to even, a sum is shifted.
void ExpectShifts(const NetworkForms& forms) {
  const std::vector<float> of_sums =
      ParametersIn(forms.lowered.program, forms.lowered.scope, "integer_", "Scales");
  EXPECT_THAT(of_sums, Not(IsEmpty()));
  EXPECT_THAT(of_sums, Each(ResultOf(IsPowerOfTwo, true)));
  int steps_to_codes = 0;
  for (const Op& op : forms.lowered.program.block(0).ops()) {
    const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc());
    if (!epilogue.ok()) continue;
    for (const EpilogueStage& stage : *epilogue) {
      if (stage.kind != EpilogueStage::Kind::kMultiply) continue;
      EXPECT_TRUE(IsPowerOfTwo(stage.a)) << op.type() << ": " << stage.a;
      ++steps_to_codes;
    }
  }
  EXPECT_GT(steps_to_codes, 0);
}

TEST(FpgaTarget, ShiftsEachSumWhateverFindsTheRanges) {
  for (const std::string quantizer : {"moving_average_abs_max", "window_mean_abs_max", "tqt"}) {
    SCOPED_TRACE(quantizer);
    const std::string form = quantizer == "tqt" ? " form: FUSED" : "";
    const auto forms =
        FormsOn("fpga_power_of_two", "lenet5",
                absl::StrCat("activations { quantizer: '", quantizer, "'", form, " }"));
    ASSERT_TRUE(forms.ok()) << forms.status();
    ExpectShifts(**forms);
  }
}

// sum / 2^shift, rounded half to even, as a machine without multipliers computes it.
int64_t ShiftedRight(int64_t sum, int shift) {
  const int64_t below = sum >> shift;
  const int64_t rest = sum - below * (int64_t{1} << shift);
  const int64_t half = (int64_t{1} << shift) / 2;
  return rest > half || (rest == half && below % 2 != 0) ? below + 1 : below;
}

std::vector<int64_t> Integers(const Tensor& tensor) {
  const auto all = [](auto span) { return std::vector<int64_t>(span.begin(), span.end()); };
  switch (tensor.dtype()) {
    case VarType::INT8:
      return all(tensor.data<int8_t>());
    case VarType::UINT8:
      return all(tensor.data<uint8_t>());
    default:
      return all(tensor.data<int32_t>());
  }
}

// The codes of a fully connected layer by integers alone: sums with their biases, shifted, with the
// negative ones cut off by its relu.
TEST(FpgaTarget, GivesTheCodesThatIntegersGive) {
  const auto forms = FormsOn("fpga_power_of_two", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  Scope& scope = (*forms)->lowered.scope;
  const Program& lowered = (*forms)->lowered.program;
  const Tensor images = RandomImages({kBatch, 1, 28, 28}, /*seed=*/100);
  const auto executor = executor::Executor::Create(lowered, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  int layers = 0;
  for (const Op& op : lowered.block(0).ops()) {
    if (op.type() != "integer_mul" || op.FindAttr("out_dtype") == nullptr) continue;
    const auto run = (*executor)->Run(
        {{(*forms)->image, &images}},
        {std::string(op.Input("X")->name()), std::string(op.Output("Out")->name())}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    const std::vector<int64_t> x = Integers((*run)[0]);
    const std::vector<int64_t> out = Integers((*run)[1]);
    const Tensor& weights = std::get<Tensor>(*scope.FindOrNull(op.Input("Y")->name()));
    const std::vector<int64_t> w = Integers(weights);
    const std::vector<int64_t> bias =
        Integers(std::get<Tensor>(*scope.FindOrNull(op.Input("Bias")->name())));
    const Tensor& scales = std::get<Tensor>(*scope.FindOrNull(op.Input("Scales")->name()));
    const Epilogue epilogue = *EpilogueOf(op.desc());
    ASSERT_EQ(epilogue.size(), 2);
    ASSERT_EQ(epilogue[0].kind, EpilogueStage::Kind::kRelu);
    const int shift = -std::ilogb(scales.data<float>()[0] * epilogue[1].a);
    EXPECT_GT(shift, 0);
    const int64_t terms = weights.dims()[0];
    const int64_t columns = weights.dims()[1];
    const int64_t largest = op.FindAttr("out_largest_code")->i();
    for (size_t i = 0; i < out.size(); ++i) {
      int64_t sum = bias[i % columns];
      for (int64_t k = 0; k < terms; ++k)
        sum += x[i / columns * terms + k] * w[k * columns + i % columns];
      ASSERT_EQ(out[i], std::min(std::max<int64_t>(ShiftedRight(sum, shift), 0), largest))
          << op.Output("Out")->name() << ", element " << i;
    }
    EXPECT_GT(*std::max_element(out.begin(), out.end()), 0);
    ++layers;
  }
  EXPECT_EQ(layers, 2);
}

// A range is the largest code times the step.
TEST(FpgaTarget, StoresRangesWhoseStepIsAPowerOfTwo) {
  const auto forms = FormsOn("fpga_power_of_two", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  const FrozenModel& portable = (*forms)->portable;
  std::vector<float> ranges =
      ParametersIn(portable.program, portable.scope, "dequantize_linear", "Scale");
  EXPECT_EQ(ranges.size(), 10) << "of 5 weights, and of 5 activations";
  const auto has_such_a_step = [](float range) {
    return IsPowerOfTwo(range / 127) || IsPowerOfTwo(range / 255);
  };
  EXPECT_THAT(ranges, Each(ResultOf(has_such_a_step, true)));
}

TEST(NpuTarget, StoresWeightsOf4Bits) {
  const auto forms = FormsOn("npu_int4", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  const std::vector<int> codes = CodesOfWeights<int8_t>((*forms)->portable, VarType::INT8);
  EXPECT_THAT(codes, Not(IsEmpty()));
  EXPECT_THAT(codes, Each(testing::AllOf(Ge(-8), Le(7))));
}

// Codes of 16 bits are multiplied as integers, and stay codes of 16 bits in the lowered program.
TEST(DspTarget, MultipliesCodesOf16Bits) {
  const auto forms = FormsOn("dsp_int16", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  const std::vector<int> codes = CodesOfWeights<int16_t>((*forms)->portable, VarType::INT16);
  EXPECT_EQ(*std::max_element(codes.begin(), codes.end()), 32767);
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul"}), IsEmpty());
  int quantized = 0;
  for (const Op& op : (*forms)->lowered.program.block(0).ops()) {
    if (op.type() != "integer_quantize") continue;
    EXPECT_EQ(op.FindAttr("out_dtype")->i(), VarType::INT16);
    EXPECT_EQ(op.FindAttr("out_largest_code")->i(), 32767);
    ++quantized;
  }
  EXPECT_EQ(quantized, 5);
}

}  // namespace
}  // namespace fixpoint
