#include "transpiler/quantize/layer_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

// Two products share a weight; one more has its own.
constexpr char kNet[] = R"(var x f32[-1,4]
var w f32[4,4] persistable
var v f32[4,4] persistable
var a f32[-1,4]
var b f32[-1,4]
var c f32[-1,4]
mul(X=x, Y=w) -> (Out=a) {x_num_col_dims=1, y_num_col_dims=1}
mul(X=a, Y=w) -> (Out=b) {x_num_col_dims=1, y_num_col_dims=1}
mul(X=b, Y=v) -> (Out=c) {x_num_col_dims=1, y_num_col_dims=1}
)";

QuantPlan PlanOf(const Program& program, const QuantConfig& config) {
  Program copy = program.Clone();
  TranspileOptions options;
  options.config = config;
  const absl::StatusOr<TranspileResult> result = Transpile(&copy, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->plan;
}

std::vector<bool> Quantized(const QuantPlan& plan) {
  std::vector<bool> quantized;
  for (const QuantPlan::Decision& decision : plan.decisions()) {
    quantized.push_back(decision.quantized());
  }
  return quantized;
}

TEST(LayerLevels, RulesLeaveLayersInFloat) {
  const Program program = ParsedProgram(kNet);
  const QuantConfig config;
  const LayerLevels layers = LayerLevels::Of(program, PlanOf(program, config));
  ASSERT_EQ(layers.layers().size(), 2U) << "nothing tells the second product from its neighbours";
  EXPECT_EQ(layers.layers()[0].output, "a");
  EXPECT_EQ(layers.layers()[1].output, "c");
  EXPECT_EQ(layers.levels(), 2);
  EXPECT_EQ(layers.NameOf(1), "float");
  EXPECT_THAT(Quantized(PlanOf(program, layers.Apply(config, {0, 0}))),
              ElementsAre(true, true, true));
  EXPECT_THAT(Quantized(PlanOf(program, layers.Apply(config, {1, 0}))),
              ElementsAre(false, false, true));
  EXPECT_THAT(Quantized(PlanOf(program, layers.Apply(config, {0, 1}))),
              ElementsAre(true, true, false));
}

TEST(LayerLevels, FewerBitsCanBecome8) {
  const Program program = ParsedProgram(kNet);
  QuantConfig config;
  config.set_target("onednn_int8");
  config.mutable_weights()->set_bits(4);
  const LayerLevels layers = LayerLevels::Of(program, PlanOf(program, config));
  EXPECT_EQ(layers.levels(), 3);
  EXPECT_EQ(layers.NameOf(1), "8 bits");
  const QuantPlan plan = PlanOf(program, layers.Apply(config, {0, 1}));
  for (const QuantPlan::Site& site : plan.sites()) {
    if (site.role() != SlotRole::WEIGHT) continue;
    EXPECT_EQ(site.spec().bits(), site.value().variable() == "v" ? 8 : 4);
  }
}

TEST(LayerLevels, ALaterRuleWinsOverTheUsersOwn) {
  const Program program = ParsedProgram(kNet);
  QuantConfig config;
  QuantRule& rule = *config.add_rules();
  rule.set_op_type("mul");
  rule.mutable_spec()->set_bits(6);
  const LayerLevels layers = LayerLevels::Of(program, PlanOf(program, config));
  const QuantPlan plan = PlanOf(program, layers.Apply(config, {2, 1}));
  EXPECT_THAT(Quantized(plan), ElementsAre(false, false, true));
}

}  // namespace
}  // namespace fixpoint
