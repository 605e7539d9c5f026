#include "transpiler/exchange/nni_calibration.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/transpiler/exchange/ranges_fixture.h"

namespace fixpoint {
namespace {

using NniCalibration = LearnedRangesTest;
using NniCalibrationOfAffine = AffineRangesTest;

// "x -1 1; y ...": the entries of a profile.
std::string Entries(const absl::StatusOr<RangeProfile>& profile) {
  if (!profile.ok()) return std::string(profile.status().message());
  std::string text;
  for (const RangeProfile::Entry& entry : profile->entries()) {
    char line[100];
    snprintf(line, sizeof(line), "%s %.9g %.9g\n", entry.variable().c_str(), entry.min(),
             entry.max());
    text += line;
  }
  return text;
}

TEST_F(NniCalibration, HasFieldsForEachLayer) {
  const auto text = WriteNniCalibration(ranges_, program_, NniForm::kFields);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"({
  "conv": {
    "weight_bits": 8,
    "weight_scale": [
      0.002624672,
      0.0055118115
    ],
    "weight_zero_point": [
      0,
      0
    ],
    "tracked_min_weight": [
      -0.33333334,
      -0.70000005
    ],
    "tracked_max_weight": [
      0.33333334,
      0.70000005
    ],
    "tracked_qmin_weight": -127,
    "tracked_qmax_weight": 127,
    "input_bits": 8,
    "tracked_min_input": -1.0000001,
    "tracked_max_input": 1.0000001,
    "tracked_qmin_input": -127,
    "tracked_qmax_input": 127
  },
  "h": {
    "output_bits": 8,
    "tracked_min_output": 0,
    "tracked_max_output": 0.012345679,
    "tracked_qmin_output": 0,
    "tracked_qmax_output": 127
  },
  "fc": {
    "weight_bits": 8,
    "weight_scale": 0.02473695,
    "weight_zero_point": 0,
    "tracked_min_weight": -3.1415927,
    "tracked_max_weight": 3.1415927,
    "tracked_qmin_weight": -127,
    "tracked_qmax_weight": 127,
    "input_bits": 8,
    "tracked_min_input": 0,
    "tracked_max_input": 0.012345679,
    "tracked_qmin_input": 0,
    "tracked_qmax_input": 127
  }
}
)");
}

// Weights with a range for each channel are left to the parameters.
TEST_F(NniCalibration, ReadBackGivesTheRangesToTheBit) {
  for (const NniForm form : {NniForm::kFields, NniForm::kTargets}) {
    const auto text = WriteNniCalibration(ranges_, program_, form);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(Entries(ReadNniCalibration(*text, "nni", program_)),
              "x -1.00000012 1.00000012\n"
              "h 0 0.0123456791\n"
              "fc.w -3.14159274 3.14159274\n");
  }
}

TEST_F(NniCalibrationOfAffine, KeepsZeroPoints) {
  const auto text = WriteNniCalibration(ranges_, program_, NniForm::kTargets);
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string h = R"("_input_0": {
      "scale": 0.012345679,
      "zero_point": 3,
      "quant_dtype": "uint8",
      "quant_scheme": "affine",
      "quant_bits": 8,
      "tracked_max": 3.1111112,
      "tracked_min": -0.037037037
    })";
  EXPECT_NE(text->find(h), std::string::npos) << *text;
  EXPECT_EQ(Entries(ReadNniCalibration(*text, "nni", program_)),
            "x -1.00000012 1.00000012\n"
            "h -0.0370370373 3.11111116\n"
            "fc.w -3.14159274 3.14159274\n");
}

// The ops of the formula are of no layer, though they read the weight, and the product reads what
// they compute.
TEST(NniCalibrationOfFormulas, NamesTheLayerOfTheWeight) {
  const Program program = ParsedProgram(R"(block 0 {
  var x f32[-1,2]
  var conv.w f32[2,2] persistable
  var conv.w@range f32[1] persistable
  var conv.w@value f32[2,2]
  var conv.w@quantized f32[2,2]
  var conv.b f32[2] persistable
  var conv.tmp_0 f32[-1,2]
  var conv.tmp_1 f32[-1,2]
  tanh(X=conv.w) -> (Out=conv.w@value) {fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_at_range(X=conv.w@value, InScale=conv.w@range) -> (Out=conv.w@quantized) {bit_length=4, fixpoint.inserted_by="insert_quantizers"}
  mul(X=x, Y=conv.w@quantized) -> (Out=conv.tmp_0) {fixpoint.rewired=["Y.0=conv.w"]}
  elementwise_add(X=conv.tmp_0, Y=conv.b) -> (Out=conv.tmp_1)
}
)");
  const auto scope = ParseParameters(
      "conv.w f32[2,2] 1 -4 2 0\nconv.w@range f32[1] 0.5\nconv.b f32[2] 1 1\n", "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  for (const NniForm form : {NniForm::kFields, NniForm::kTargets}) {
    const auto text = WriteNniCalibration(*ranges, program, form);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(text->find("{\n  \"conv\": {\n    \"weight"), 0) << *text;
    // Codes down to -8 stand for less than -0.5, and the range is read back.
    EXPECT_EQ(Entries(ReadNniCalibration(*text, "nni", program)), "conv.w -0.5 0.5\n");
  }
}

TEST_F(NniCalibration, OfVersion24CallsAnOutputAnActivation) {
  EXPECT_EQ(Entries(ReadNniCalibration(R"({"conv": {"weight_bit": 8, "activation_bit": 8,
      "tracked_min_activation": [-2], "tracked_max_activation": [4]}})",
                                       "nni", program_)),
            "conv.out -2 4\n");
}

TEST_F(NniCalibration, ThatIsWrongIsRefusedAtItsPlace) {
  const auto error = [this](const std::string& text) {
    return Entries(ReadNniCalibration(text, "nni", program_));
  };
  EXPECT_EQ(error(R"({"conv1": {}})"),
            "nni:1:2: the program has no layer \"conv1\"; did you mean conv?");
  EXPECT_EQ(error(R"({"conv": {"tracked_min_inputs": 1}})"),
            "nni:1:11: \"tracked_min_inputs\" is no field of a layer; did you mean "
            "tracked_min_input?");
  EXPECT_EQ(error(R"({"conv": {"tracked_min_input": 1}})"),
            "nni:1:10: conv: has only one of tracked_min_input and tracked_max_input; want both");
  EXPECT_EQ(error(R"({"conv": {"tracked_min_input": 1, "tracked_max_input": 0.5}})"),
            "nni:1:56: conv.input: the maximum 0.5 is below the minimum 1");
  EXPECT_EQ(error(R"({"conv": {"tracked_min_input": NaN, "tracked_max_input": 0.5}})"),
            "nni:1:32: conv.tracked_min_input: got NaN; want a finite number");
  EXPECT_EQ(error(R"({"conv": {"weight_bits": "8"}})"),
            "nni:1:26: conv.weight_bits: got \"8\"; want a whole number, 1 to 32");
  EXPECT_EQ(error(R"({"conv": {"_input_1": {"tracked_min": 0, "tracked_max": 1}}})"),
            "nni:1:23: the layer \"conv\" of the program has inputs: 1; got _input_1");
  EXPECT_EQ(error(R"({"conv": {"_inputs_": {}}})"),
            "nni:1:11: \"_inputs_\" is no target of a layer; want weight, _input_0, _input_1, ... "
            "or _output_0");
  EXPECT_EQ(error(R"({"h": {"tracked_min_output": 0, "tracked_max_output": 1},
 "fc": {"tracked_min_input": 0, "tracked_max_input": 2}})"),
            "nni:2:30: fc.input: \"h\" is 0 to 2 here, and 0 to 1 where another layer has it");
  EXPECT_EQ(error("[1]"), "nni:1:1: the calibration configuration: got a list; want an object");
}

}  // namespace
}  // namespace fixpoint
