// Quantizers as text: what a formula becomes, and what is wrong with those that are refused.

#include "ops/quantizers/text_quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/quantizer_table.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QuantSpec Spec(const Quantizer& quantizer, int bits) {
  QuantSpec spec;
  spec.set_quantizer(std::string(quantizer.name()));
  spec.set_bits(bits);
  spec.set_granularity(quantizer.granularity());
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  if (quantizer.granularity() == QuantSpec::PER_CHANNEL) spec.set_axis(1);
  return spec;
}

std::string Printed(const std::vector<OpDesc>& ops) {
  return absl::StrCat(
      absl::StrJoin(ops, "\n",
                    [](std::string* out, const OpDesc& op) { absl::StrAppend(out, PrintOp(op)); }),
      "\n");
}

std::vector<std::unique_ptr<Quantizer>> Read(const std::string& text) {
  auto read = ReadQuantizers(text, "q.txt");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : std::vector<std::unique_ptr<Quantizer>>();
}

TEST(TextQuantizer, LsqIsATextWithAndWithoutChannels) {
  const QuantizerTable table;
  const Quantizer& lsq = *table.Find("lsq");
  EXPECT_EQ(lsq.doc(), "A range that gradient descent finds (Learned Step Size Quantization).");
  EXPECT_EQ(table.Find("channel_wise_lsq")->granularity(), QuantSpec::PER_CHANNEL);
  const QuantSpec spec = Spec(lsq, 4);
  const QuantizerUse use{spec, SlotRole::ACTIVATION, Dims{-1, 3, 2}, Era::kPaddle2};
  EXPECT_EQ(lsq.Forward(use).quantized, "x");
  EXPECT_TRUE(lsq.Forward(use).ops.empty()) << "the op reads the state";
  EXPECT_EQ(Printed(lsq.GradientOps(use)),
            R"(fill_constant() -> (Out=largest) {shape=[1L], dtype=5, value=7.0}
fill_constant() -> (Out=count) {shape=[1L], dtype=5, value=6.0}
elementwise_div(X=largest, Y=count) -> (Out=share)
sqrt(X=share) -> (Out=root)
elementwise_mul(X=root, Y=largest) -> (Out=factor)
fake_quantize_dequantize_at_range_grad(InScale=range, Out@GRAD=out@GRAD, X=x) -> (InScale@GRAD=trained@GRAD, X@GRAD=x@GRAD) {bit_length=4, round_type=0, quant_axis=-1, surrogate="clamp_then_round"}
elementwise_mul(X=trained@GRAD, Y=factor) -> (Out=range@GRAD) {axis=-1, use_mkldnn=false, use_quantizer=false, mkldnn_data_type="float32", Scale_x=1.0, Scale_y=1.0, Scale_out=1.0}
)");
}

// The step is a power of two: what the range is computed by comes before the quantize op, and its
// gradient passes the rounding.
constexpr char kPowers[] = R"(quantizer powers "Steps that are powers of two."
states:
  number() -> (Out=exponent) {trained=true, initial=2.0}
forward:
  ceil(X=exponent) -> (Out=whole) {straight_through=true}
  exp(X=whole) -> (Out=range)
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out) {surrogate="round_then_clamp"}
)";

TEST(TextQuantizer, ComputesItsRangeFromWhatIsTrained) {
  const auto read = Read(kPowers);
  ASSERT_EQ(read.size(), 1);
  const Quantizer& powers = *read.front();
  const QuantSpec spec = Spec(powers, 4);
  const QuantizerUse use{spec, SlotRole::WEIGHT, Dims{3, 2}, Era::kPaddle2};
  const QuantizerForward forward = powers.Forward(use);
  EXPECT_EQ(Printed(forward.ops), R"(ceil(X=exponent) -> (Out=whole)
exp(X=whole) -> (Out=range)
)");
  EXPECT_THAT(forward.inputs, ElementsAre(testing::Pair("InScale", "range")));
  EXPECT_EQ(
      Printed(powers.GradientOps(use)),
      R"(fake_quantize_dequantize_at_range_grad(InScale=range, Out@GRAD=out@GRAD, X=x) -> (InScale@GRAD=range@GRAD, X@GRAD=x@GRAD) {surrogate="round_then_clamp", bit_length=4, round_type=0, quant_axis=-1}
exp_grad(Out=range, Out@GRAD=range@GRAD) -> (X@GRAD=whole@GRAD) {use_mkldnn=false, use_cudnn=false}
assign(X=whole@GRAD) -> (Out=exponent@GRAD)
)");
  EXPECT_EQ(Printed(powers.UpdateOps(use)),
            "sgd(Param=exponent, Grad=exponent@GRAD, LearningRate=learning_rate) -> "
            "(ParamOut=exponent)\n");
  const QuantizerState& exponent = powers.recipes().front().state.front();
  EXPECT_EQ(exponent.decides, "InScale");
  EXPECT_EQ(powers.InitialValue(exponent, spec), 2);
}

// Every text of the table is one that a user could have given.
TEST(TextQuantizer, BuiltInTextsPassTheChecksOfAUsersOwn) {
  const QuantizerTable table;
  int texts = 0;
  for (const auto& file : std::filesystem::directory_iterator("ops/quantizers/texts")) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const auto& quantizer : Read(text)) {
      EXPECT_NE(table.Find(quantizer->name()), nullptr) << quantizer->name();
    }
    ++texts;
  }
  EXPECT_GE(texts, 9);
}

// A weight of 2 x 3 inputs and 2 outputs: the groups are of 3 inputs, the divisor of 6 next to 4.
TEST(TextQuantizer, GroupsAreThoseOfTheInputsOfAChannel) {
  const QuantizerTable table;
  EXPECT_EQ(table.Find("grouped"), nullptr);
  const Quantizer& grouped = *table.Find("channel_wise_grouped");
  QuantSpec spec = Spec(grouped, 4);
  (*spec.mutable_parameters())["group_size"] = 4;
  const std::string of_product =
      Printed(grouped.Forward({spec, SlotRole::WEIGHT, Dims{6, 2}, Era::kPaddle2}).ops);
  EXPECT_THAT(of_product, HasSubstr("reshape(X=x) -> (Out=groups) {shape=[2, 3, 2]}"));
  EXPECT_THAT(of_product,
              HasSubstr("(Out=range_of_group) {dim=[1], keep_dim=true}\n"
                        "reduce_max(X=range_of_group) -> (Out=largest_range) {dim=[0, 1]}"));
  EXPECT_THAT(of_product, HasSubstr("(X=groups, Y=step) -> (Out=places) {axis=2}"));
  EXPECT_THAT(of_product, HasSubstr("(X=places, Y=factor) -> (Out=places_in_group)\n"));
  EXPECT_THAT(of_product, HasSubstr("reshape(X=values) -> (Out=value) {shape=[6, 2]}"));
  spec.set_axis(0);
  EXPECT_THAT(
      Printed(grouped.Forward({spec, SlotRole::WEIGHT, Dims{2, 6, 1, 1}, Era::kPaddle2}).ops),
      HasSubstr("reshape(X=x) -> (Out=groups) {shape=[1, 2, 2, 3]}"));
}

TEST(TextQuantizer, WhatIsWrongIsReportedWithItsLine) {
  const std::string forward =
      "forward:\n  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n";
  const std::string states = "states:\n  number() -> (Out=r) {trained=true, initial=1.0}\n";
  const std::string groups =
      "settings:\n  number() -> (Out=group_size) {default=2.0, min=1.0, max=9.0, doc=\"d\"}\n"
      "forward:\n  split_groups(X=x) -> (Out=g)\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "q.txt:1: no op of forward: quantizes; want one fake_quantize_dequantize_at_range"},
      {"forwards:\n",
       "q.txt:2: no section of a quantizer is called forwards; expected settings:, states:, "},
      {"states:\n  number() -> (Out=bits)\n",
       "q.txt:3: bits: the name stands for something else; want another"},
      {"states:\n  number() -> (Out=a)\n  number() -> (Out=a)\n",
       "q.txt:4: a: the name is given twice"},
      {"states:\n  number() -> (Out=a) {train=true}\n",
       "q.txt:3: a: a number of states: has no attribute train; did you mean trained?"},
      {"states:\n  number() -> (Out=a) {initial=1.0, initial=1.0}\n",
       "q.txt:3: a: attribute initial is given twice; want it once"},
      {"states:\n  number() -> (Out=a) {trained=\"yes\"}\n",
       "q.txt:3: a: trained is true or false"},
      {"states:\n  numbers() -> (Out=a)\n",
       "q.txt:3: found numbers() -> (Out=a); did you mean number?; want number or "
       "number_per_range or number_per_element() -> (Out=NAME) in states:"},
      {"states:\n  number_per_chanel() -> (Out=a) {trained=true}\n",
       "q.txt:3: found number_per_chanel() -> (Out=a) {trained=true}; did you mean "
       "number_per_range?; want number or number_per_range or number_per_element() -> "
       "(Out=NAME) in states:"},
      {"states:\n  number(X=x) -> (Out=a)\n",
       "q.txt:3: found number(X=x) -> (Out=a); want number or"},
      {"settings:\n  nmber() -> (Out=a)\n",
       "q.txt:3: found nmber() -> (Out=a); did you mean number?; want number() -> (Out=NAME) in "
       "settings:"},
      {"settings:\n  number_per_range() -> (Out=r) {trained=true}\n",
       "q.txt:3: number_per_range in settings:; it declares a state, which is done in states:"},
      {"states:\n  var a f32[1]\n", "q.txt:3: a variable; want ops, whose names need none"},
      {"settings:\n  number() -> (Out=m) {default=2.0, min=0.0, max=1.0, doc=\"d\"}\n",
       "q.txt:3: m: default is not between min and max"},
      {"settings:\n  number() -> (Out=m) {default=2.0}\n",
       "q.txt:3: m: want a number min, like min=0.5"},
      {"settings:\n  number() -> (Out=m) {default=1.0, min=0.0, max=1.0}\n",
       "q.txt:3: m: want a sentence doc=\"...\""},
      {forward, "q.txt:3: reads \"r\", which is no state, setting or number, and which no op"},
      {states + "forward:\n  fake_quantize_abs_max(X=x) -> (Out=out, OutScale=s)\n",
       "q.txt:5: is fake_quantize_abs_max; formulas quantize by fake_quantize_dequantize_at_range "
       "or fake_quantize_dequantize_affine"},
      {"settings:\n  number() -> (Out=bits) {min=0.0}\n",
       "q.txt:3: bits: they go from 0 to 16; want integers from 1 to 16"},
      {"settings:\n  number() -> (Out=bits) {default=2.0}\n",
       "q.txt:3: bits: a number of settings: has no attribute default; there are min, max"},
      {"settings:\n  number() -> (Out=group_size) {default=2.0, min=0.0, max=9.0, doc=\"d\"}\n",
       "q.txt:3: group_size: a group has 0 inputs; want integers from 1 to 65536"},
      {"settings:\n  number() -> (Out=group_size) {default=2.5, min=1.0, max=9.0, doc=\"d\"}\n",
       "q.txt:3: group_size: a group has 2.5 inputs; want integers from 1 to 65536"},
      {"settings:\n  number() -> (Out=group_size) {default=2.0, min=1.0, max=1e30, doc=\"d\"}\n",
       "q.txt:3: group_size: a group has 1e+30 inputs; want integers from 1 to 65536"},
      {"forward:\n  split_groups(X=x) -> (Out=g)\n" + forward.substr(9),
       "q.txt:3: split_groups needs a setting group_size, how many inputs of a product are a "
       "group"},
      {"forward:\n  split_groups(X=x, Y=x) -> (Out=g)\n" + forward.substr(9),
       "q.txt:3: want split_groups(X=NAME) -> (Out=NAME)"},
      {"forward:\n  join_groups(X=x) -> (Out=g)\n" + forward.substr(9),
       "q.txt:3: join_groups reads \"x\", which has no groups"},
      {groups + "  split_groups(X=g) -> (Out=h)\n" + forward.substr(9),
       "q.txt:6: split_groups reads \"g\", which has not one number for each element"},
      {states + forward + "  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=b)\n",
       "q.txt:6: another op that quantizes; the first is on line 5"},
      {states + "forward:\n  rulu(X=r) -> (Out=a)\n" + forward.substr(9),
       "q.txt:5: there is no op rulu"},
      {states + "forward:\n  scale(X=r) -> (Out=a) {scale=\"$bit\"}\n" + forward.substr(9),
       "q.txt:5: scale: \"$bit\" is neither a setting nor bits, largest or lowest, nor one of "
       "these "
       "and an integer, like $bits+1"},
      {states + "forward:\n  floor(X=r) -> (Out=s)\n"
                "  fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=out)\n",
       "q.txt:5: the gradient of floor is not known, so that that of out cannot be derived; "
       "straight_through=true passes it on unchanged, stop_gradient=true passes none"},
      {states + "forward:\n  floor(X=r) -> (Out=s) {stop_gradient=true}\n"
                "  fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=out)\n",
       "q.txt:3: nothing computes r@GRAD: no path with a gradient leads from out to it"},
      {states + "forward:\n  sign(X=x) -> (Out=y) {stop_gradient=true}\n"
                "  fake_quantize_dequantize_at_range(X=y, InScale=r) -> (Out=out)\n",
       "q.txt:1: nothing computes x@GRAD: no path with a gradient leads from out to it"},
      {states + forward.substr(0, forward.find("(Out=out)")) + "(Out=y)\n",
       "q.txt:5: want fake_quantize_dequantize_at_range(X=..., InScale=...) -> (Out=out) as the "
       "last op of forward:"},
      {states + "forward:\n  fake_quantize_dequantize_at_range(X=x) -> (Out=out)\n",
       "q.txt:5: fake_quantize_dequantize_at_range has no input InScale here; want InScale=NAME"},
      {states + "forward:\n  fake_quantize_dequantize_affine(X=x, InScale=r) -> (Out=out)\n",
       "q.txt:5: fake_quantize_dequantize_affine has no input InZeroPoint here; want "
       "InZeroPoint=NAME"},
      {states + "forward:\n  tanh(X=x) -> (Out=x)\n" + forward.substr(9),
       "q.txt:5: writes \"x\", which stands for something else; want another name"},
      {states + "forward:\n  tanh(X=x) -> (Out=r)\n" + forward.substr(9),
       "q.txt:5: writes \"r\", which stands for something else; want another name"},
      {states + "forward:\n  tanh(X=x, Y=x) -> (Out=y)\n" + forward.substr(9),
       "q.txt:5: tanh has no input Y"},
      {states + "forward:\n  tanh(X=x) -> (Out=y) {stop_gradiant=true}\n" + forward.substr(9),
       "q.txt:5: tanh has no attribute stop_gradiant"},
      {states + "forward:\n  round(X=x) -> (Out=y) {straight_through=\"yes\"}\n" +
           forward.substr(9),
       "q.txt:5: straight_through is true or false"},
      {states + "forward:\n  scale(X=x) -> (Out=y) {straight_through=true}\n" + forward.substr(9),
       "q.txt:5: straight_through is for round, ceil, floor and sign; scale has a gradient of its "
       "own"},
      {states + "initial:\n  abs(X=x) -> (Out=r) {stop_gradient=true}\n" + forward,
       "q.txt:5: stop_gradient is for ops that have a gradient, and no op of initial: and update:"},
      {states + forward + "update:\n  scale_gradient(X=r, Factor=largest) -> (Out=r)\n",
       "q.txt:7: scale_gradient is for ops that have a gradient, and no op of initial: and "
       "update:"},
      {"states:\n  number_per_element() -> (Out=e)\n" + states.substr(8) + forward +
           "update:\n  reduce_mean(X=x) -> (Out=e)\n  scale(X=r) -> (Out=r)\n",
       "q.txt:8: writes \"e\" as [1]; want [d0, d1], the shape of x"},
      {states + forward + "update:\n  scale(X=learning_rate) -> (Out=a)\n",
       "q.txt:7: update: does not write r, which is trained"},
      {states + forward + "update:\n  scale(X=rate) -> (Out=r)\n",
       "q.txt:7: reads \"rate\", which is no state, setting or number"},
      {states + "forward:\n  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out) "
                "{surrogate=\"clip\"}\n",
       "q.txt:5: fake_quantize_dequantize_at_range: surrogate is \"clip\"; want clamp_then_round"},
      {states + forward + "initial:\n  abs(X=x) -> (Out=r)\n",
       "q.txt:7: writes \"r\" as [d0, d1], the shape of x; want [1]"},
      {states + "forward:\n  transpose(X=x) -> (Out=y) {axis=[1, 0]}\n"
                "  fake_quantize_dequantize_at_range(X=y, InScale=r) -> (Out=out)\n",
       "q.txt:6: writes \"out\" as [d1, d0]; want [d0, d1], the shape of x"},
      {"forward:\n  transpose(X=x) -> (Out=y) {axis=[1, 0]}\n"
       "  fake_quantize_dequantize_at_range(X=x, InScale=y) -> (Out=out)\n",
       "q.txt:4: fake_quantize_dequantize_at_range: InScale is [d1, d0]; want [1], where x is "
       "[d0, d1]"},
      {states + forward + "initial:\n  relu X\n", "q.txt:7:8: found \"X\""},
      {states + forward +
           "surrogate:\n  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n",
       "q.txt:7: surrogate: has fake_quantize_dequantize_at_range, whose gradient is that of "
       "forward:; want ops that have the gradient, such as clip, or a section gradient:"},
  };
  for (const auto& [sections, error] : cases) {
    const auto read = ReadQuantizers("quantizer q \"Q.\"\n" + sections, "q.txt");
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(error)) << sections;
  }
}

// One op of forward: each, between the line of the state and that which quantizes.
TEST(TextQuantizer, OpsAreThoseOfTheirSchemas) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"scale(X=r) -> (Out=s) {scale=\"0.8\"}",
       "attribute scale of scale is of type float; got string"},
      {"scale(X=r) -> (Out=s) {scale=[0.8]}",
       "attribute scale of scale is of type float; got floats"},
      {"scale(X=r) -> (Out=s) {scale=true}",
       "attribute scale of scale is of type float; got boolean"},
      {"scale(X=r) -> (Out=s) {bias_after_scale=1}",
       "attribute bias_after_scale of scale is of type boolean; got int"},
      {"scale(X=r) -> (Out=s) {scale=1.0, scale=2.0}",
       "attribute scale is given twice; want it once"},
      {"elementwise_mul(X=r, Y=r) -> (Out=s) {axis=1.5}",
       "attribute axis of elementwise_mul is of type int; got float"},
      {"elementwise_mul(X=r) -> (Out=s)", "elementwise_mul has no input Y here; want Y=NAME"},
      {"elementwise_mul(X=r, Y=[]) -> (Out=s)", "elementwise_mul has no input Y here; want Y=NAME"},
      {"abs(X=[x, x]) -> (Out=s)", "input X of abs has 2 arguments; want one"},
      {"abs(X=r, X=r) -> (Out=s)", "slot X is given twice; want it once"},
      {"abs(X=@EMPTY@) -> (Out=s)", "@EMPTY@ in X; leave out the slot that must be empty"},
      {"abs(X=r) -> ()", "abs has no output Out here; want Out=NAME"},
      {"cast(X=r) -> (Out=s)",
       "cast has no attribute out_dtype here, which has no default; give it"},
      {"momentum(Param=r, Grad=r, LearningRate=r) -> (ParamOut=s) {mu=0.9}",
       "momentum has no input Velocity here; want Velocity=NAME"},
      {"fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=s) {bit_length=\"four\"}",
       "attribute bit_length of fake_quantize_dequantize_at_range is of type int; got string"},
      {"fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=s) {bit_length=7}",
       "fake_quantize_dequantize_at_range has the bits of the spec; leave bit_length out, or say "
       "how "
       "many more, like bit_length=\"$bits+1\""},
      {"fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=s) {quant_axis=1}",
       "fake_quantize_dequantize_at_range has the quant_axis of the spec; leave the attribute out"},
  };
  for (const auto& [op, error] : cases) {
    const auto read = ReadQuantizers(
        absl::StrCat("quantizer q \"Q.\"\nstates:\n  number() -> (Out=r)\nforward:\n  ", op,
                     "\n  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n"),
        "q.txt");
    EXPECT_EQ(read.status(), absl::InvalidArgumentError(absl::StrCat("q.txt:5: ", error))) << op;
  }
}

TEST(TextQuantizer, NumbersAreOfTheTypesOfTheirSchemas) {
  const auto read = Read(
      "quantizer q \"Q.\"\nstates:\n  number() -> (Out=r) {trained=true, initial=1}\nforward:\n"
      "  scale(X=r) -> (Out=s) {scale=2}\n"
      "  fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=out)\n");
  ASSERT_EQ(read.size(), 1);
  const QuantSpec spec = Spec(*read.front(), 4);
  EXPECT_EQ(Printed(read.front()->Forward({spec, SlotRole::WEIGHT, Dims{3, 2}, Era::kPaddle2}).ops),
            "scale(X=r) -> (Out=s) {scale=2.0}\n");
}

// A state that no op needs, or from whose first value nothing is learned.
TEST(TextQuantizer, StatesAreReadAndBeginSomewhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"number() -> (Out=r) {trained=true}",
       "q.txt:3: r: it is trained and has no first value; give it by initial=NUMBER, or by an op "
       "of "
       "initial:"},
      {"number() -> (Out=r) {trained=true, initial=0.0}",
       "q.txt:3: r: its first value is 0, and a range is above 0"},
      {"number() -> (Out=r)",
       "q.txt:3: r: it is 0 in every step; give its first value by initial=NUMBER or by an op of "
       "initial:, or write it in update:"},
      {"number() -> (Out=r) {initial=0.0}",
       "q.txt:3: r: its first value is 0, and a range is above 0"},
      {"number() -> (Out=r) {trained=true, initial=1.0}\n  number() -> (Out=v)",
       "q.txt:4: v: no op reads the state; leave it out, or read it"},
      {"number() -> (Out=r) {initial=1.0}\nupdate:\n"
       "  sgd(Param=r, Grad=r@GRAD, LearningRate=learning_rate) -> (ParamOut=r)",
       "q.txt:5: reads \"r@GRAD\", and r is not trained; declare it with trained=true"},
      {"number() -> (Out=r) {initial=1.0}\ngradient:\n  assign(X=out@GRAD) -> (Out=r@GRAD)",
       "q.txt:5: writes \"r@GRAD\", and r is not trained; declare it with trained=true"},
  };
  for (const auto& [states, error] : cases) {
    const auto read = ReadQuantizers(
        absl::StrCat("quantizer q \"Q.\"\nstates:\n  ", states,
                     "\nforward:\n"
                     "  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n"),
        "q.txt");
    EXPECT_EQ(read.status(), absl::InvalidArgumentError(error)) << states;
  }
}

// What has no effect, each at its line.
TEST(TextQuantizer, AllThatATextSaysIsUsed) {
  const std::string states = "states:\n  number() -> (Out=r) {trained=true, initial=1.0}\n";
  const std::string forward =
      "forward:\n  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n";
  const std::string unread = "nothing reads \"a\"; leave the op out, or read it";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"states:\n  number() -> (Out=r) {initial=1.0}\n" + forward +
           "update:\n  scale(X=r) -> (Out=a)\n",
       "q.txt:7: update: writes no state; write one, or leave the section out"},
      {states + forward + "initial:\n  scale(X=largest) -> (Out=a)\n",
       "q.txt:7: initial: writes no state; write one, or leave the section out"},
      {states + forward + "update:\n", "q.txt:6: update: has no op; leave it out"},
      {"settings:\n  number() -> (Out=m) {default=1.0, min=0.0, max=1.0, doc=\"d\"}\n" + states +
           forward,
       "q.txt:3: m: no op reads the setting; leave it out, or read it"},
      {states + "forward:\n  scale(X=r) -> (Out=a)\n" + forward.substr(9), "q.txt:5: " + unread},
      {states + "forward:\n  scale(X=r) -> (Out=a)\n  scale(X=a) -> (Out=b)\n" + forward.substr(9),
       "q.txt:6: nothing reads \"b\"; leave the op out, or read it"},
      {states + forward +
           "surrogate:\n  abs(X=x) -> (Out=a)\n  elementwise_mul(X=x, Y=r) -> (Out=out)\n",
       "q.txt:7: " + unread},
      {states + forward +
           "gradient:\n  assign(X=out@GRAD) -> (Out=x@GRAD)\n  reduce_sum(X=x) -> (Out=r@GRAD)\n"
           "  abs(X=x) -> (Out=a)\n",
       "q.txt:9: " + unread},
      {states + forward + "update:\n  abs(X=x) -> (Out=a)\n  scale(X=r) -> (Out=r)\n",
       "q.txt:7: " + unread},
      {"states:\n  number() -> (Out=r) {trained=true}\n" + forward +
           "initial:\n  abs(X=x) -> (Out=a)\n  reduce_mean(X=x) -> (Out=r)\n",
       "q.txt:7: " + unread},
  };
  for (const auto& [sections, error] : cases) {
    const auto read = ReadQuantizers("quantizer q \"Q.\"\n" + sections, "q.txt");
    EXPECT_EQ(read.status(), absl::InvalidArgumentError(error)) << sections;
  }
}

// Settings are read by name, in attributes, and by words.
TEST(TextQuantizer, SettingsAreReadInSeveralWays) {
  const auto setting = [](const std::string& name) {
    return "  number() -> (Out=" + name + ") {default=1.0, min=1.0, max=2.0, doc=\"d\"}\n";
  };
  Read("quantizer q \"Q.\"\nsettings:\n" + setting("a") + setting("b") + setting("c") +
       "states:\n  number() -> (Out=r) {trained=true, initial=1.0}\nforward:\n"
       "  scale(X=r) -> (Out=s) {scale=\"$a\", bias=\"$b+1\"}\n"
       "  elementwise_mul(X=s, Y=c) -> (Out=range)\n"
       "  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out)\n");
}

// What a text takes over need not all be used: the velocity of lsq, and the factor that the forward
// section of ewgs computes for the gradient of ewgs. An empty section stands for none.
TEST(TextQuantizer, WhatComesFromAnotherMayHaveNoEffect) {
  Read(
      "quantizer q of lsq \"Q.\"\nupdate:\n"
      "  sgd(Param=range, Grad=range@GRAD, LearningRate=learning_rate) -> (ParamOut=range)\n");
  Read(
      "quantizer q of ewgs \"Q.\"\ngradient:\n  assign(X=out@GRAD) -> (Out=x@GRAD)\n"
      "  reduce_sum(X=out@GRAD) -> (Out=range@GRAD)\n");
  Read("quantizer q of ewgs \"Q.\"\ngradient:\n");
}

// LLSQ compares the errors of half and double the range.
TEST(TextQuantizer, UpdatesMayQuantize) {
  Read(
      "quantizer q \"Q.\"\nstates:\n  number() -> (Out=r) {initial=1.0}\nforward:\n"
      "  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\nupdate:\n"
      "  scale(X=r) -> (Out=half) {scale=0.5}\n"
      "  fake_quantize_dequantize_at_range(X=x, InScale=half) -> (Out=coarse)\n"
      "  elementwise_sub(X=x, Y=coarse) -> (Out=error)\n  abs(X=error) -> (Out=size)\n"
      "  reduce_mean(X=size) -> (Out=r)\n");
}

TEST(TextQuantizer, NamesThatAreTakenAreRefusedAtTheirLine) {
  const auto read = ReadQuantizers(
      "\nquantizer q \"Q.\"\nstates:\n  number() -> (Out=r) {initial=1.0}\nforward:\n"
      "  fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=out)\n",
      "q.txt", [](absl::string_view name) { return name == "q"; });
  EXPECT_EQ(read.status(), absl::InvalidArgumentError(
                               "q.txt:2: there is a quantizer \"q\" already; want another name"));
}

}  // namespace
}  // namespace fixpoint
