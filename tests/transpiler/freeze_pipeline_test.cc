// The pipeline of a freeze that a caller chooses: what is left out is told before anything runs.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/freeze.h"

namespace fixpoint {
namespace {

Program Trained() {
  return ParsedProgram(R"(
    var x f32[-1,2]
    var s f32[1] persistable
    var d f32[-1,2]
    var copy f32[-1,2]
    var y f32[-1,2]
    var f fetch_list persistable
    fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=s) -> (Out=d, OutScale=s) {bit_length=8, is_test=true}
    assign(X=d) -> (Out=copy)
    relu(X=copy) -> (Out=y)
    fetch(X=y) -> (Out=f) {col=0}
  )");
}

Scope Parameters() {
  Scope scope;
  scope.Set("s", Tensor::FromValues<float>({1}, {2.0f}));
  return scope;
}

struct Wrong {
  const char* text;
  FrozenForm form;
  std::string message;
};

TEST(FreezePipeline, WhatLeavesAStepOutIsTheCallersMistake) {
  const auto missing = [](const char* text, const char* fact, const char* whole) {
    return absl::StrCat("pipeline: after ", text, ", \"", fact, "\" does not hold; ", whole,
                        " freezes a program");
  };
  constexpr char kNoWeights[] =
      "strip_training,set_test_mode,freeze_observers,freeze_scales,prune_to_inference";
  constexpr char kNoPruneAfter[] =
      "strip_training,set_test_mode,freeze_observers,prune_to_inference,freeze_scales,"
      "quantize_weights";
  const std::vector<Wrong> cases = {
      {"", FrozenForm::kPortable, ""},  // the pipeline of the form
      {"strip_training", FrozenForm::kPortable,
       missing("strip_training", "test_mode", kFreezePipeline)},
      {kNoWeights, FrozenForm::kLegacy,
       missing(kNoWeights, "weights_quantized", kLegacyFreezePipeline)},
      {kNoPruneAfter, FrozenForm::kPortable, missing(kNoPruneAfter, "pruned", kFreezePipeline)},
      {"strip_training,set_test_mode,freeze_observers,quantize_weights,freeze_scales",
       FrozenForm::kPortable,
       "pipeline: freeze_scales comes before whatever establishes \"weights_quantized\"; put it "
       "earlier"},
      {kLegacyFreezePipeline, FrozenForm::kPortable,
       "pipeline: dequantize_products is for the legacy forms"},
      {"plan_quantizers", FrozenForm::kPortable,
       "pipeline: there is no pass \"plan_quantizers\"; there are "},
      {"freeze", FrozenForm::kPortable, "pipeline: there is no pass \"freeze\"; there are "},
  };
  for (const Wrong& wrong : cases) {
    FreezeOptions options;
    options.form = wrong.form;
    options.pipeline = wrong.text;
    const absl::Status status = Freeze(Trained(), Parameters(), options).status();
    if (wrong.message.empty()) {
      EXPECT_EQ(status, absl::OkStatus());
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(std::string(status.message()).substr(0, wrong.message.size()), wrong.message);
  }
}

TEST(FreezePipeline, CanHaveOtherPassesToo) {
  FreezeOptions options;
  options.pipeline = absl::StrCat(kFreezePipeline, ",remove_identities");
  const auto frozen = Freeze(Trained(), Parameters(), options);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(frozen->program.Find(frozen->program.block(0), "copy"), nullptr);
  EXPECT_TRUE(frozen->notes.empty());
}

TEST(FreezePipeline, ThatEndsEarlySaysSo) {
  for (const char* last : {"set_test_mode", "prune_to_inference"}) {
    FreezeOptions options;
    options.pipeline_options.stop_after = last;
    const auto frozen = Freeze(Trained(), Parameters(), options);
    ASSERT_TRUE(frozen.ok()) << frozen.status();
    EXPECT_EQ(frozen->notes, std::vector<std::string>{absl::StrCat(
                                 "the pipeline ended after ", last,
                                 ": the program is only partly frozen, and not checked")});
  }
  FreezeOptions options;
  options.pipeline_options.stop_after = "remove_dead_variables";
  EXPECT_TRUE(Freeze(Trained(), Parameters(), options)->notes.empty());
}

}  // namespace
}  // namespace fixpoint
