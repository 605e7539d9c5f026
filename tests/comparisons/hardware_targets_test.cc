// The same network through the targets of kinds of hardware (examples/targets): simulated =
// portable = lowered, and the numbers that are stored are those that the machine can hold.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
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
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Lt;
using ::testing::Not;
using ::testing::ResultOf;

constexpr int kBatch = 4;

// `fields`: of the target, instead of those in its file.
absl::StatusOr<TranspileOptions> OptionsFor(const std::string& target,
                                            const std::string& fields = "") {
  TranspileOptions options;
  ASSIGN_OR_RETURN(
      options.target,
      LoadTarget(absl::StrCat("examples/targets/", target, ".textproto"), QuantizerTable()));
  Target changed;
  CHECK(google::protobuf::TextFormat::ParseFromString(fields, &changed)) << fields;
  options.target->MergeFrom(changed);
  return options;
}

absl::StatusOr<std::unique_ptr<NetworkForms>> FormsOn(const std::string& target,
                                                      const std::string& network,
                                                      const std::string& config,
                                                      const std::string& fields = "") {
  ASSIGN_OR_RETURN(TranspileOptions options, OptionsFor(target, fields));
  return TrainForms(BuildNetwork(network, kBatch), config, std::move(options));
}

bool IsPowerOfTwo(float number) {
  int exponent = 0;
  return std::frexp(number, &exponent) == 0.5f;
}

const Tensor& ParameterIn(const Scope& scope, const Op& op, absl::string_view slot) {
  return std::get<Tensor>(*scope.FindOrNull(op.Input(slot)->name()));
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

// The codes of parameters, of the type T that holds them.
template <typename T>
std::vector<int> CodesIn(const Program& program, const Scope& scope, VarType::Type dtype) {
  std::vector<int> codes;
  for (const Variable* variable : program.block(0).variables()) {
    const Scope::Value* const value = scope.FindOrNull(variable->name());
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
  const char* fields = "";
};

class HardwareTarget : public testing::TestWithParam<Case> {};

TEST_P(HardwareTarget, ComputesWhatTrainingSaw) {
  const auto forms =
      FormsOn(GetParam().target, GetParam().network, GetParam().config, GetParam().fields);
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
                    Case{"CoreOfSumsOf12Bits", "core_int12_sums", "lenet5", ""},
                    Case{"CoreOfSumsOf11And10Bits", "core_int12_sums", "lenet5",
                         "rules { slot: 'Output' spec { bits: 11 } } "
                         "rules { op_type: 'mul' slot: 'Out' spec { bits: 10 } }"},
                    Case{"CoreOfBiasesOf16Bits", "core_int12_sums", "lenet5", "", "bias: INT16"},
                    Case{"Dsp", "dsp_int16", "lenet5", ""}, Case{"Cpu", "cpu_int8", "lenet5", ""},
                    Case{"Npu", "npu_int4", "lenet5", ""},
                    // Codes that are joined have one step.
                    Case{"DspOfJoinedCodes", "dsp_int16", "up_down", ""},
                    Case{"NpuOfJoinedCodes", "npu_int4", "up_down", ""},
                    // Codes of more bits than those of the spec, and a bias in their steps.
                    Case{"CpuOfGroups", "cpu_int8", "lenet5",
                         "weights { quantizer: 'channel_wise_grouped' form: FUSED bits: 4 }"},
                    Case{"Mcu", "mcu_int8", "lenet5", ""},
                    Case{"McuOfTwoRoundings", "mcu_int8", "lenet5", "",
                         "requantization_roundings: 2"},
                    Case{"McuOfMultipliersOf16Bits", "mcu_int8", "lenet5",
                         "activations { quantizer: 'window_mean_abs_max' }",
                         "requantization_multiplier_bits: 16"}),
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

// Computes the codes of the fully connected layers with a relu a second time, by integers alone:
// `code` gives that of a sum with its bias, of a channel of an op, before it is clamped.
using CodeOfSum = std::function<int64_t(const Op& op, int64_t channel, int64_t sum)>;
void ExpectCodesOfIntegers(NetworkForms& forms, const CodeOfSum& code) {
  Scope& scope = forms.lowered.scope;
  const Program& lowered = forms.lowered.program;
  const Tensor images = RandomImages({kBatch, 1, 28, 28}, /*seed=*/100);
  const auto executor = executor::Executor::Create(lowered, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  int layers = 0;
  for (const Op& op : lowered.block(0).ops()) {
    if (op.type() != "integer_mul" || op.FindAttr("out_dtype") == nullptr) continue;
    const auto run = (*executor)->Run(
        {{forms.image, &images}},
        {std::string(op.Input("X")->name()), std::string(op.Output("Out")->name())}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    const std::vector<int64_t> x = Integers((*run)[0]);
    const std::vector<int64_t> out = Integers((*run)[1]);
    const Tensor& weights = ParameterIn(scope, op, "Y");
    const std::vector<int64_t> w = Integers(weights);
    const std::vector<int64_t> bias = Integers(ParameterIn(scope, op, "Bias"));
    const Epilogue epilogue = *EpilogueOf(op.desc());
    ASSERT_EQ(epilogue.size(), 2);
    ASSERT_EQ(epilogue[0].kind, EpilogueStage::Kind::kRelu);
    const int64_t terms = weights.dims()[0];
    const int64_t columns = weights.dims()[1];
    const int64_t largest = op.FindAttr("out_largest_code")->i();
    for (size_t i = 0; i < out.size(); ++i) {
      int64_t sum = bias[i % columns];
      for (int64_t k = 0; k < terms; ++k)
        sum += x[i / columns * terms + k] * w[k * columns + i % columns];
      ASSERT_EQ(out[i], std::min(std::max<int64_t>(code(op, i % columns, sum), 0), largest))
          << op.Output("Out")->name() << ", element " << i;
    }
    EXPECT_GT(*std::max_element(out.begin(), out.end()), 0);
    ++layers;
  }
  EXPECT_EQ(layers, 2);
}

TEST(FpgaTarget, GivesTheCodesThatIntegersGive) {
  const auto forms = FormsOn("fpga_power_of_two", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  ExpectCodesOfIntegers(**forms, [&](const Op& op, int64_t /*channel*/, int64_t sum) {
    const Tensor& scales = ParameterIn((*forms)->lowered.scope, op, "Scales");
    const int shift = -std::ilogb(scales.data<float>()[0] * EpilogueOf(op.desc())->back().a);
    EXPECT_GT(shift, 0);
    return ShiftedRight(sum, shift);
  });
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

// Nothing of a layer is left in floats between its codes and those of its sums with a bias.
TEST(CoreTarget, AddsBiasesOf16BitsToRoundedSums) {
  const auto forms = FormsOn("core_int12_sums", "lenet5", "", "bias: INT16");
  ASSERT_TRUE(forms.ok()) << forms.status();
  int added = 0;
  for (const Op& op : (*forms)->lowered.program.block(0).ops()) {
    EXPECT_NE(op.type(), "fake_dequantize_bias");
    EXPECT_NE(op.type(), "elementwise_add");
    const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc());
    if (!epilogue.ok()) continue;
    for (const EpilogueStage& stage : *epilogue) {
      added += stage.kind == EpilogueStage::Kind::kAddChannel;
    }
  }
  EXPECT_EQ(added, 5);
}

// Every layer but the last requantizes its sums, and nothing multiplies them by a float.
TEST(McuTarget, RequantizesEachSumThatBecomesCodes) {
  const auto forms = FormsOn("mcu_int8", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  int requantized = 0;
  for (const Op& op : (*forms)->lowered.program.block(0).ops()) {
    EXPECT_NE(op.type(), "fake_requantize");
    const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc());
    if (!epilogue.ok()) continue;
    for (const EpilogueStage& stage : *epilogue) {
      EXPECT_NE(stage.kind, EpilogueStage::Kind::kMultiply);
      requantized += stage.kind == EpilogueStage::Kind::kRequantize;
    }
  }
  EXPECT_EQ(requantized, 4);
}

// A factor f * 2^e, with f from 1/2 to 1, is round(f * 2^31) and e. CMSIS-NN's arm_nn_requantize,
// without and with a rounding of its own for the shift.
int64_t Requantized(int64_t sum, float factor, int roundings) {
  int e = 0;
  const int64_t multiplier = std::llround(std::ldexp(std::frexp(factor, &e), 31));
  EXPECT_LT(e, 0) << factor;
  if (roundings == 1) return (sum * multiplier + (int64_t{1} << (30 - e))) >> (31 - e);
  const int64_t doubled = (sum * multiplier + (int64_t{1} << 30)) >> 31;
  return std::llround(std::ldexp(static_cast<double>(doubled), e));  // ties away from 0
}

TEST(McuTarget, GivesTheCodesThatIntegersGive) {
  for (const int roundings : {1, 2}) {
    SCOPED_TRACE(roundings);
    const auto forms =
        FormsOn("mcu_int8", "lenet5", "", absl::StrCat("requantization_roundings: ", roundings));
    ASSERT_TRUE(forms.ok()) << forms.status();
    ExpectCodesOfIntegers(**forms, [&](const Op& op, int64_t channel, int64_t sum) {
      const Tensor& factors = ParameterIn((*forms)->lowered.scope, op, "Operands");
      return Requantized(sum, factors.data<float>()[channel], roundings);
    });
  }
}

TEST(NpuTarget, StoresWeightsOf4Bits) {
  const auto forms = FormsOn("npu_int4", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  const std::vector<int> codes =
      CodesIn<int8_t>((*forms)->portable.program, (*forms)->portable.scope, VarType::INT8);
  EXPECT_THAT(codes, Not(IsEmpty()));
  EXPECT_THAT(codes, Each(testing::AllOf(Ge(-8), Le(7))));
}

// Biases that 16 bits do not hold are clamped, as training saw them.
TEST(NpuTarget, ClampsBiasesTo16Bits) {
  Network network = BuildNetwork("lenet5", kBatch);
  auto trained = TrainQuantized(&network, "", *OptionsFor("npu_int4"));
  ASSERT_TRUE(trained.ok()) << trained.status();
  for (const Variable* variable : network.main.block(0).variables()) {
    Scope::Value* const value = trained->FindOrNull(variable->name());
    Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    const bool is_bias =
        tensor != nullptr && variable->desc()->is_parameter() && tensor->dims().size() == 1;
    if (!is_bias) continue;
    for (float& x : tensor->mutable_data<float>()) x *= 1e4f;
  }
  const auto forms = MakeForms(network.main, *std::move(trained), network.image, {network.scores});
  ASSERT_TRUE(forms.ok()) << forms.status();
  const std::vector<int> codes =
      CodesIn<int16_t>((*forms)->lowered.program, (*forms)->lowered.scope, VarType::INT16);
  EXPECT_EQ(codes.size(), 6 + 16 + 120 + 84 + 10);
  EXPECT_THAT(codes, testing::Contains(INT16_MIN));
  EXPECT_THAT(codes, testing::Contains(INT16_MAX));
  EXPECT_THAT(codes, testing::Contains(testing::AllOf(Gt(INT16_MIN), Lt(INT16_MAX))));
  const auto compared = CompareForms(**forms, RandomImages(network.image_dims, /*seed=*/100));
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
}

// Codes of 16 bits are multiplied as integers, and stay codes of 16 bits in the lowered program.
TEST(DspTarget, MultipliesCodesOf16Bits) {
  const auto forms = FormsOn("dsp_int16", "lenet5", "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  const std::vector<int> codes =
      CodesIn<int16_t>((*forms)->portable.program, (*forms)->portable.scope, VarType::INT16);
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
