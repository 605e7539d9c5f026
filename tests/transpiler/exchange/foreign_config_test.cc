// Configurations of other tools: what they make of the ops of a network.

#include "transpiler/exchange/foreign_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/exchange/module_types.h"
#include "transpiler/report/account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr char kNet[] = R"(
program version=2006002
block 0 {
  var x f32[-1,3,8,8]
  var conv1.w_0 f32[4,3,3,3] persistable
  var conv1.b_0 f32[4] persistable
  var conv2.w_0 f32[4,4,3,3] persistable
  var fc.w_0 f32[64,10] persistable
  var conv1.tmp_0 f32[-1,4,6,6]
  var conv1.tmp_1 f32[-1,4,6,6]
  var relu.tmp_0 f32[-1,4,6,6]
  var conv2.tmp_0 f32[-1,4,4,4]
  var fc.tmp_0 f32[-1,10]
  conv2d(Input=x, Filter=conv1.w_0) -> (Output=conv1.tmp_0)
  elementwise_add(X=conv1.tmp_0, Y=conv1.b_0) -> (Out=conv1.tmp_1) {axis=1}
  relu(X=conv1.tmp_1) -> (Out=relu.tmp_0)
  conv2d(Input=relu.tmp_0, Filter=conv2.w_0) -> (Output=conv2.tmp_0)
  mul(X=conv2.tmp_0, Y=fc.w_0) -> (Out=fc.tmp_0)
}
)";

// The quantized values of the network, a line each: variable, quantizer and bits; or the error.
std::string Quantized(const std::string& json, const std::string& target = "onednn_int8") {
  auto config = ParseForeignConfig(json, "c.json");
  if (!config.ok()) return std::string(config.status().message());
  Program program = ParsedProgram(kNet);
  TranspileOptions options;
  options.config = *std::move(config);
  options.config.set_target(target);
  const auto report = Transpile(&program, options);
  if (!report.ok()) return std::string(report.status().message());
  std::string text;
  for (const QuantPlan::Site& site : report->plan.sites()) {
    absl::StrAppend(&text, site.value().variable(), " ", site.spec().quantizer(), " ",
                    site.spec().bits(), "\n");
  }
  return text;
}

TEST(NniConfig, TheLastEntryThatFitsWinsWhole) {
  EXPECT_EQ(Quantized(R"([
    {"quant_types": ["weight", "input"], "quant_bits": 8, "op_types": ["default"],
     "quant_scheme": "per_tensor_symmetric", "quant_dtype": "int"},
    {"quant_types": ["weight"], "quant_bits": {"weight": 4}, "op_types": ["Conv2d"],
     "op_names": ["conv2"], "quant_scheme": "per_channel_symmetric", "quant_dtype": "int"}])"),
            "x moving_average_abs_max 8\n"
            "conv1.w_0 abs_max 8\n"
            "conv2.w_0 channel_wise_abs_max 4\n"
            "conv2.tmp_0 moving_average_abs_max 8\n"
            "fc.w_0 abs_max 8\n");
}

TEST(NniConfig, TypesAndNamesBothHaveToHold) {
  EXPECT_EQ(Quantized(R"([{"quant_types": ["weight"], "quant_bits": 8, "op_types": ["Linear"],
    "op_names": ["conv1", "fc"]}])"),
            "fc.w_0 channel_wise_abs_max 8\n");
}

TEST(NniConfig, ExcludeCountsByBeingThere) {
  EXPECT_EQ(Quantized(R"([
    {"quant_types": ["weight"], "quant_bits": 8, "op_types": ["Conv2d", "Linear"]},
    {"exclude": false, "op_names": ["conv1"]},
    {"exclude": true, "op_types": ["Linear"]}])"),
            "conv2.w_0 channel_wise_abs_max 8\n");
}

TEST(NniConfig, AnEntryAfterAnExclusionTakesItBack) {
  EXPECT_EQ(Quantized(R"([
    {"exclude": 1, "op_types": ["default"]},
    {"quant_types": ["weight"], "quant_bits": 8, "op_names": ["fc"]}])"),
            "fc.w_0 channel_wise_abs_max 8\n");
}

TEST(NniConfig, OfVersion3HasTargetsAndExclusions) {
  const std::string settings = R"("target_settings": {
      "weight": {"quant_dtype": "int8", "quant_scheme": "symmetric", "granularity": "out_channel"},
      "_input_": {"quant_dtype": "int8", "quant_scheme": "symmetric", "granularity": "default"}})";
  EXPECT_EQ(
      Quantized(absl::StrCat(R"([{"op_types": ["Conv2d", "Linear"], "exclude_op_types": ["Linear"],
    )",
                             settings, "}]")),
      "x moving_average_abs_max 8\n"
      "conv1.w_0 channel_wise_abs_max 8\n"
      "relu.tmp_0 moving_average_abs_max 8\n"
      "conv2.w_0 channel_wise_abs_max 8\n");
  EXPECT_EQ(Quantized(absl::StrCat(R"([{"op_names_re": ["conv.*"], "exclude_op_names": ["conv1"],
    )",
                                   settings, "}]")),
            "relu.tmp_0 moving_average_abs_max 8\n"
            "conv2.w_0 channel_wise_abs_max 8\n");
}

// The second entry does not fit conv2, so that the first one still does.
TEST(NniConfig, WhatAnEntryExcludesIsLeftToThoseBeforeIt) {
  EXPECT_EQ(Quantized(R"([
    {"op_types": ["default"], "target_names": ["weight"], "quant_dtype": "int4",
     "quant_scheme": "symmetric"},
    {"op_types": ["Conv2d"], "target_names": ["weight"], "quant_dtype": "int8",
     "quant_scheme": "symmetric", "exclude_op_names": ["conv2"]}])"),
            "conv1.w_0 abs_max 8\n"
            "conv2.w_0 abs_max 4\n"
            "fc.w_0 abs_max 4\n");
}

TEST(NniConfig, OfAnEmptyListQuantizesNothing) { EXPECT_EQ(Quantized("[]"), ""); }

TEST(NniConfig, BeginsAtTheStepThatAllEntriesName) {
  const auto config = ParseForeignConfig(
      R"([{"quant_types": ["weight"], "quant_bits": 8, "op_types": ["Conv2d"],
           "quant_start_step": 100}, {"exclude": 1, "op_names": ["fc"]}])",
      "c.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->schedule().quantize_from_step(), 100);
  EXPECT_EQ(Quantized(R"([
    {"quant_types": ["weight"], "quant_bits": 8, "op_types": ["Conv2d"], "quant_start_step": 100},
    {"quant_types": ["weight"], "quant_bits": 8, "op_types": ["Linear"]}])"),
            "c.json:3:5: quant_start_step: 0 here, and 100 in an earlier entry; want one for all");
}

TEST(NniConfig, NamesThatNoLayerHasAreAnError) {
  EXPECT_EQ(Quantized(R"([{"quant_types": ["weight"], "quant_bits": 8, "op_names": ["conv9"]}])"),
            "configuration: no quantizable op matches entry 1 { layer: \"conv9\" } (the layers are "
            "conv1, conv2, fc); correct it, or set `optional: true` (in a textproto) where that is "
            "meant [in plan_quantizers]");
}

TEST(NniConfig, NamesAreNoPatterns) {
  EXPECT_EQ(Quantized(R"([{"quant_types": ["weight"], "quant_bits": 8, "op_names": ["conv*"]}])"),
            "c.json:1:60: op_names: \"conv*\" is no name of a layer; op_names are whole names, and "
            "op_names_re are patterns");
}

TEST(ModuleTypes, AreOpsThatThereAre) {
  for (const std::string& type : OpTypesOfAllModules()) {
    EXPECT_NE(FindOpSchema(type), nullptr) << type;
  }
  const std::vector<std::string> with_weights = {"conv2d", "conv2d_transpose", "depthwise_conv2d",
                                                 "fc",     "lookup_table",     "lookup_table_v2",
                                                 "matmul", "matmul_v2",        "mul"};
  EXPECT_EQ(OpTypesOfModule("default"), with_weights);
}

TEST(ModuleTypes, AreOnThePage) {
  std::ifstream file("docs/other_tools.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const ModuleType& module : ModuleTypes()) {
    std::vector<std::string> names = module.op_types;
    names.push_back(module.name);
    for (const std::string& name : names) {
      EXPECT_THAT(page, testing::HasSubstr(absl::StrCat("`", name, "`")));
    }
  }
}

TEST(PaddleConfig, QuantizesTheTypesThatItNames) {
  EXPECT_EQ(Quantized(R"({
    "weight_quantize_type": "channel_wise_abs_max", "activation_quantize_type": "range_abs_max",
    "weight_bits": 8, "activation_bits": 7, "quantize_op_types": ["conv2d", "depthwise_conv2d"],
    "not_quant_pattern": ["skip_quant"], "dtype": "int8", "window_size": 100, "moving_rate": 0.8,
    "for_tensorrt": false, "is_full_quantize": false})",
                      "paddle_2_6"),
            "x range_abs_max 7\n"
            "conv1.w_0 channel_wise_abs_max 8\n"
            "relu.tmp_0 range_abs_max 7\n"
            "conv2.w_0 channel_wise_abs_max 8\n");
}

TEST(PaddleConfig, ParametersAreThoseOfTheQuantizerThatIsNamed) {
  const auto config = ParseForeignConfig(R"({"activation_quantize_type": "moving_average_abs_max",
    "moving_rate": 0.8, "window_size": 100})",
                                         "c.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ShortDebugString(),
            "weights { } activations { quantizer: \"moving_average_abs_max\" parameters { key: "
            "\"moving_rate\" value: 0.8 } }");
}

}  // namespace
}  // namespace fixpoint
