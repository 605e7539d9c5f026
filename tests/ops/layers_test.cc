// What layers write, and what they refuse.

#include "ops/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ops/program_builder.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Layers, DeclareAndInitialiseWhatTheyMake) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  Fc(net, Data(net, "x", {-1, 2}), 3);
  ASSERT_TRUE(net.status().ok()) << net.status();
  EXPECT_EQ(PrintProgram(main.Proto()), R"(program
block 0 {
  var x f32[-1,2] need_check_feed
  var fc_0.w_0 f32[2,3] persistable
  var fc_0.tmp_0 f32[-1,3]
  var fc_0.b_0 f32[3] persistable
  var fc_0.tmp_1 f32[-1,3]
  mul(X=x, Y=fc_0.w_0) -> (Out=fc_0.tmp_0) {x_num_col_dims=1, op_role=0, op_role_var=strings[], y_num_col_dims=1, scale_x=1.0, scale_y=[1.0], scale_out=1.0, use_mkldnn=false, force_fp32_output=false, op_namescope="/", op_device=""}
  elementwise_add(X=fc_0.tmp_0, Y=fc_0.b_0) -> (Out=fc_0.tmp_1) {axis=1, op_role=0, op_role_var=strings[], use_mkldnn=false, x_data_format="", y_data_format="", op_namescope="/", op_device=""}
}
)");
  EXPECT_EQ(PrintProgram(startup.Proto()), R"(program
block 0 {
  var fc_0.w_0 f32[2,3] persistable
  var fc_0.b_0 f32[3] persistable
  uniform_random() -> (Out=fc_0.w_0) {dtype=5, shape=[2L, 3L], min=-1.0954452, max=1.0954452, seed=0, op_role=0, diag_num=0, diag_step=0, diag_val=1.0, op_role_var=strings[], op_namescope="/", op_device=""}
  fill_constant() -> (Out=fc_0.b_0) {dtype=5, shape=[3L], value=0.0, force_cpu=false, op_role=0, str_value="", op_role_var=strings[], op_namescope="/", op_device=""}
}
)");
}

TEST(Layers, ATransposedConvolutionScalesUp) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  Conv2dOptions options;
  options.stride = 2;
  options.padding = 1;
  options.groups = 2;
  options.bias = false;
  const std::string y = Conv2dTranspose(net, Data(net, "x", {-1, 4, 5, 5}), 6, 3, options);
  ASSERT_TRUE(net.status().ok()) << net.status();
  EXPECT_EQ(y, "conv2d_transpose_0.tmp_0");
  EXPECT_THAT(PrintOp(main.block(0).last_op()->desc()),
              StartsWith("conv2d_transpose(Input=x, Filter=conv2d_transpose_0.w_0) -> (Output="));
  EXPECT_EQ(net.DimsOf(y), std::vector<int64_t>({-1, 6, 9, 9}));
  EXPECT_EQ(net.DimsOf("conv2d_transpose_0.w_0"), std::vector<int64_t>({4, 3, 3, 3}));
  EXPECT_THAT(PrintOp(startup.block(0).last_op()->desc()), HasSubstr("max=0.3086067"));
}

TEST(Layers, GiveNamesThatNoVariableHas) {
  Program main;
  Program startup;
  {
    ProgramBuilder net(&main, &startup);
    EXPECT_EQ(Relu(net, Data(net, "relu_3.tmp_0", {2})), "relu_4.tmp_0");
    EXPECT_EQ(Relu(net, Data(net, "relu_2147483647", {2})), "relu_5.tmp_0");
  }
  ProgramBuilder again(&main, &startup);
  EXPECT_EQ(Relu(again, "relu_3.tmp_0"), "relu_6.tmp_0");
}

TEST(ProgramBuilder, BeginsWithAnEmptyProgramOfARelease) {
  EXPECT_EQ(PrintProgram(EmptyProgram(2, 6, 2).Proto()), R"(program version=2006002
block 0 {
}
)");
}

TEST(ProgramBuilder, WantsTheStartupProgramOfTheSameRelease) {
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(1, 8, 5);
  EXPECT_EQ(ProgramBuilder(&main, &startup).status().ToString(),
            "INVALID_ARGUMENT: the program's version is 2006002 and that of its startup program "
            "1008005; want the startup program that belongs to it");
}

TEST(ProgramBuilder, WritesConstantsAsTheyAre) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  std::vector<std::string> texts;
  for (const float value : {1000001.0f, 1e-4f, 1e-5f, 0.1234567f, -3.0f, 0.0f}) {
    net.AppendConstant(value);
    texts.push_back(*StringAttr(main.block(0).last_op()->desc(), "str_value"));
  }
  EXPECT_EQ(texts,
            std::vector<std::string>({"1000001.0", "0.0001", "1e-05", "0.1234567", "-3.0", "0.0"}));
}

TEST(ProgramBuilder, InitialisesAsItIsTold) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  const auto initializer = [&](const std::string& name, const Initializer& value) {
    net.AddPersistable({name, VarType::FP32, {2}, value});
    return PrintOp(startup.block(0).last_op()->desc());
  };
  EXPECT_THAT(initializer("a", Initializer::Constant(4)),
              StartsWith("fill_constant() -> (Out=a) {dtype=5, shape=[2L], value=4.0"));
  EXPECT_THAT(
      initializer("b", Initializer::Uniform(-1, 2, 3)),
      StartsWith("uniform_random() -> (Out=b) {dtype=5, shape=[2L], min=-1.0, max=2.0, seed=3"));
  EXPECT_THAT(
      initializer("c", Initializer::Normal(1, 2, 3)),
      StartsWith("gaussian_random() -> (Out=c) {dtype=5, shape=[2L], mean=1.0, std=2.0, seed=3"));
  EXPECT_THAT(initializer("d", Initializer::TruncatedNormal(1, 2, 3)),
              StartsWith("truncated_gaussian_random() -> (Out=d) {dtype=5, shape=[2], mean=1.0, "
                         "std=2.0, seed=3"));
}

TEST(ProgramBuilder, KeepsAPersistableVariableThatIsThere) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  const Persistable counter = {"steps", VarType::INT64, {1}, Initializer::Constant(0)};
  net.AddPersistable(counter);
  net.AddPersistable(counter);
  EXPECT_TRUE(net.status().ok()) << net.status();
  EXPECT_EQ(startup.block(0).op_count(), 1);
}

struct Refusal {
  const char* name;
  std::function<void(ProgramBuilder&)> write;
  const char* error;
};

class LayersRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(LayersRefuse, WhatDoesNotFit) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  Data(net, "image", {-1, 3, 8, 8});
  Data(net, "row", {-1, 5});
  GetParam().write(net);
  EXPECT_EQ(Relu(net, "row"), "");  // writes nothing
  EXPECT_EQ(net.status().ToString(), GetParam().error);
  EXPECT_EQ(main.block(0).op_count(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Table, LayersRefuse,
    testing::Values(
        Refusal{"WhatNoLayerMade", [](ProgramBuilder& net) { Fc(net, "rows", 2); },
                "INVALID_ARGUMENT: no layer made \"rows\""},
        Refusal{"WhatNoLayerMadeInAnActivation", [](ProgramBuilder& net) { Relu(net, "rows"); },
                "INVALID_ARGUMENT: relu: no layer made \"rows\""},
        Refusal{"AnActivationThatThereIsNot",
                [](ProgramBuilder& net) { Activation(net, "row", "rellu"); },
                "INVALID_ARGUMENT: there is no op type \"rellu\""},
        Refusal{"ANameThatIsInUse",
                [](ProgramBuilder& net) {
                  Data(net, "row", {-1, 5});
                },
                "INVALID_ARGUMENT: \"row\" cannot be declared: the name is in use in the program; "
                "want another"},
        Refusal{"APersistableVariableThatIsThereInAnotherShape",
                [](ProgramBuilder& net) {
                  net.AddPersistable({"steps", VarType::INT64, {1}, Initializer::Constant(0)});
                  net.AddPersistable({"steps", VarType::INT64, {2}, Initializer::Constant(0)});
                },
                "INVALID_ARGUMENT: block 0 declares \"var steps i64[1] persistable\" already; want "
                "\"var steps i64[2] persistable\", or another name"},
        Refusal{"AConvolutionOfARow", [](ProgramBuilder& net) { Conv2d(net, "row", 4, 3); },
                "INVALID_ARGUMENT: Conv2d: \"row\" is [-1, 5]; want [N,C,H,W] with C a multiple of "
                "the 1 groups"},
        Refusal{"FiltersThatTheGroupsDoNotShare",
                [](ProgramBuilder& net) {
                  Conv2dOptions options;
                  options.groups = 3;
                  Conv2dTranspose(net, "image", 4, 3, options);
                },
                "INVALID_ARGUMENT: Conv2dTranspose: 4 filters in 3 groups; want as many in each"},
        Refusal{"AProductOfTheBatch", [](ProgramBuilder& net) { Fc(net, "row", 4, 0); },
                "INVALID_ARGUMENT: Fc: \"row\" is [-1, 5], flattened from axis 0 on; want an axis "
                "after the first, and known sizes of fewer than 2^63 elements"},
        Refusal{
            "MoreElementsThanANumberHolds",
            [](ProgramBuilder& net) {
              LayerNorm(net, Data(net, "endless", {-1, int64_t{1} << 62, 4}));
            },
            "INVALID_ARGUMENT: LayerNorm: \"endless\" is [-1, 4611686018427387904, 4], flattened "
            "from axis 1 on; want an axis after the first, and known sizes of fewer than 2^63 "
            "elements"},
        Refusal{"AWeightThatIsTooLarge",
                [](ProgramBuilder& net) {
                  Fc(net, Data(net, "endless", {-1, int64_t{1} << 62}), 4);
                },
                "INVALID_ARGUMENT: \"fc_0.w_0\" would be [4611686018427387904, 4]; want sizes of 1 "
                "or more, and fewer than 2^63 elements"},
        Refusal{
            "NoUnits", [](ProgramBuilder& net) { Fc(net, "row", 0); },
            "INVALID_ARGUMENT: \"fc_0.w_0\" would be [5, 0]; want sizes of 1 or more, and fewer "
            "than 2^63 elements"},
        Refusal{
            "FewerThanNoFilters", [](ProgramBuilder& net) { Conv2d(net, "image", -4, 3); },
            "INVALID_ARGUMENT: \"conv2d_0.w_0\" would be [-4, 3, 3, 3]; want sizes of 1 or more, "
            "and fewer than 2^63 elements"},
        Refusal{
            "ATableWithoutRows", [](ProgramBuilder& net) { Embedding(net, "row", 0, 8); },
            "INVALID_ARGUMENT: \"embedding_0.w_0\" would be [0, 8]; want sizes of 1 or more, and "
            "fewer than 2^63 elements"},
        Refusal{"ADropoutOfEverything", [](ProgramBuilder& net) { Dropout(net, "row", 1); },
                "INVALID_ARGUMENT: Dropout: \"row\": probability 1; want 0 or more, below 1"},
        Refusal{"AKernelThatDoesNotFit", [](ProgramBuilder& net) { Conv2d(net, "image", 4, 9); },
                "INVALID_ARGUMENT: conv2d: no window of 9 (dilation 1) fits in 8 with paddings 0 "
                "and 0"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
