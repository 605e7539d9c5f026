#include "ops/op_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OpSchemas, AreFoundByType) {
  ASSERT_NE(FindOpSchema("conv2d"), nullptr);
  EXPECT_EQ(FindOpSchema("conv2d")->type(), "conv2d");
  EXPECT_EQ(FindOpSchema("warp"), nullptr);
}

TEST(OpSchemas, AreSortedAndDocumented) {
  const std::vector<const OpSchema*> all = AllOpSchemas();
  ASSERT_GE(all.size(), 250u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i]->doc().empty()) << all[i]->type();
    if (i > 0) {
      EXPECT_LT(all[i - 1]->type(), all[i]->type());
    }
  }
}

TEST(OpSchemas, NameGradientOpsThatAreKnown) {
  for (const OpSchema* schema : AllOpSchemas()) {
    for (const GradientSchema& gradient : schema->gradients()) {
      EXPECT_NE(FindOpSchema(gradient.type), nullptr) << gradient.type;
    }
    if (!schema->gradient_of().empty()) {
      EXPECT_NE(FindOpSchema(schema->gradient_of()), nullptr) << schema->type();
    }
  }
}

// An attribute of the other era means, by default, what an op of this one does without it.
TEST(OpSchemas, DefaultsAreOfTheEraOrOfTheOther) {
  const OpDesc conv2d = DescFromText("conv2d() -> () {groups=4}").blocks(0).ops(0);
  EXPECT_EQ(AttrOrDefault(conv2d, "groups", Era::kFluid)->i(), 4);
  EXPECT_FALSE(AttrOrDefault(conv2d, "use_cudnn", Era::kFluid)->b());
  EXPECT_TRUE(AttrOrDefault(conv2d, "use_cudnn", Era::kPaddle2)->b());
  EXPECT_FALSE(AttrOrDefault(conv2d, "use_quantizer", Era::kPaddle2)->b());
  EXPECT_EQ(AttrOrDefault(conv2d, "op_role", Era::kFluid)->i(), kUnspecified);
  EXPECT_EQ(AttrOrDefault(conv2d, "colour", Era::kFluid), nullptr);
  EXPECT_EQ(AttrOrDefault(conv2d, "with_quant_attr", Era::kFluid), nullptr);
  EXPECT_FALSE(AttrOrDefault(conv2d, "with_quant_attr", Era::kPaddle2)->b());
}

TEST(OpSchemas, DefaultsOfRoundTypeAreOfTheOp) {
  const OpDesc fake = DescFromText("fake_quantize_abs_max() -> ()").blocks(0).ops(0);
  EXPECT_EQ(AttrOrDefault(fake, "round_type", Era::kPaddle2)->i(), 1);
  EXPECT_EQ(AttrOrDefault(fake, "round_type", Era::kFluid)->i(), 1);
  const OpDesc linear = DescFromText("quantize_linear() -> ()").blocks(0).ops(0);
  EXPECT_EQ(AttrOrDefault(linear, "round_type", Era::kPaddle2)->i(), 0);
}

std::vector<std::string> QuantizableSlots(const char* type) {
  std::vector<std::string> slots;
  for (const QuantizableInput& input : FindOpSchema(type)->quantizable_inputs()) {
    slots.push_back(absl::StrCat(input.slot, ":", SlotRole::Role_Name(input.role)));
  }
  return slots;
}

TEST(OpTraits, SayWhichOpsAreOnIntegers) {
  for (const OpSchema* schema : AllOpSchemas()) {
    EXPECT_EQ(schema->traits().is_on_integers, absl::StartsWith(schema->type(), "integer_"))
        << schema->type();
  }
}

TEST(QuantizableInputs, AreThoseThatComputeOnIntegers) {
  for (const char* type : {"conv2d", "depthwise_conv2d"}) {
    EXPECT_THAT(QuantizableSlots(type), ElementsAre("Input:ACTIVATION", "Filter:WEIGHT",
                                                    "Bias:ADDEND", "ResidualData:ADDEND"));
  }
  for (const char* type : {"conv2d_transpose", "depthwise_conv2d_transpose"}) {
    EXPECT_THAT(QuantizableSlots(type),
                ElementsAre("Input:ACTIVATION", "Filter:WEIGHT", "Bias:ADDEND"));
  }
  for (const char* type : {"mul", "matmul", "matmul_v2"}) {
    EXPECT_THAT(QuantizableSlots(type),
                ElementsAre("X:WEIGHT_OR_ACTIVATION", "Y:WEIGHT_OR_ACTIVATION"));
  }
  for (const char* type : {"elementwise_add", "elementwise_sub", "elementwise_mul"}) {
    EXPECT_THAT(QuantizableSlots(type), ElementsAre("X:ACTIVATION", "Y:ACTIVATION"));
  }
  EXPECT_THAT(QuantizableSlots("pool2d"), ElementsAre("X:ACTIVATION"));
  EXPECT_THAT(QuantizableSlots("concat"), ElementsAre("X:ACTIVATION"));
  EXPECT_THAT(QuantizableSlots("relu"), IsEmpty());
  EXPECT_THAT(QuantizableSlots("softmax"), IsEmpty());
}

TEST(KeepsRange, IsTrueOfWhatMovesValuesOnly) {
  for (const char* type :
       {"reshape", "reshape2", "transpose", "transpose2", "squeeze", "squeeze2", "unsqueeze",
        "unsqueeze2", "flatten", "flatten2", "flatten_contiguous_range", "slice", "split",
        "nearest_interp", "nearest_interp_v2", "assign", "gather"}) {
    EXPECT_TRUE(FindOpSchema(type)->keeps_range()) << type;
  }
  for (const char* type : {"relu", "dropout", "concat", "scale", "bilinear_interp", "pool2d"}) {
    EXPECT_FALSE(FindOpSchema(type)->keeps_range()) << type;
  }
}

TEST(NeverNegative, DependsOnWhereAClipEnds) {
  const OpSchema* relu6 = FindOpSchema("relu6");
  const auto is_never_negative = [&](const char* op) {
    return relu6->NeverNegative(DescFromText(op).blocks(0).ops(0), Era::kFluid);
  };
  EXPECT_TRUE(is_never_negative("relu6() -> ()"));
  EXPECT_TRUE(is_never_negative("relu6() -> () {threshold=0.0}"));
  EXPECT_FALSE(is_never_negative("relu6() -> () {threshold=-1.0}"));
  EXPECT_FALSE(is_never_negative("relu6() -> () {threshold=nan}"));
  EXPECT_FALSE(relu6->never_negative());
}

TEST(KeepsRange, IsTrueOfMaximaButNotOfAverages) {
  const OpSchema* pool2d = FindOpSchema("pool2d");
  const auto keeps = [&](const char* op) {
    return pool2d->KeepsRange(DescFromText(op).blocks(0).ops(0), Era::kFluid);
  };
  EXPECT_TRUE(keeps(R"(pool2d() -> () {pooling_type="max", ksize=[2, 2]})"));
  EXPECT_FALSE(keeps(R"(pool2d() -> () {pooling_type="avg", ksize=[2, 2]})"));
  EXPECT_FALSE(keeps("pool2d() -> () {ksize=[2, 2]}"));
}

// A window in padding alone gives the lowest number that there is.
TEST(KeepsRange, IsTrueOfMaximaWhoseWindowsMeetTheImage) {
  const OpSchema* pool2d = FindOpSchema("pool2d");
  const auto keeps = [&](const std::string& attributes) {
    const std::string op = R"(pool2d() -> () {pooling_type="max", ksize=[3, 3], )";
    const OpDesc desc = DescFromText(op + attributes + "}").blocks(0).ops(0);
    EXPECT_EQ(pool2d->KeepsSign(desc, Era::kFluid), pool2d->KeepsRange(desc, Era::kFluid));
    return pool2d->KeepsRange(desc, Era::kFluid);
  };
  EXPECT_TRUE(keeps("paddings=[2, 2]"));
  EXPECT_FALSE(keeps("paddings=[2, 3]"));
  EXPECT_FALSE(keeps("paddings=[0, 0, 0, 3]"));
  EXPECT_TRUE(keeps("paddings=[3, 3], global_pooling=true"));
  EXPECT_TRUE(keeps("paddings=[3, 3], adaptive=true"));
  EXPECT_TRUE(keeps(R"(paddings=[3, 3], padding_algorithm="SAME")"));
  EXPECT_TRUE(keeps("paddings=[1, 1], strides=[2, 2], ceil_mode=true"));
  EXPECT_FALSE(keeps("paddings=[1, 1], strides=[2, 3], ceil_mode=true"));
  EXPECT_TRUE(keeps("paddings=[0, 0], strides=[4, 4]"));
  EXPECT_FALSE(keeps("paddings=[0, 0], strides=[4, 4], ceil_mode=true"));
}

struct AxisCase {
  const char* program;
  const char* slot;
  std::optional<int> axis;
};

TEST(WeightAxis, IsThatOfTheOutputFeatures) {
  const AxisCase kCases[] = {
      {"var w f32[8,3,3,3]\nconv2d(Input=x, Filter=w) -> ()", "Filter", 0},
      {"var w f32[8,3,3,3]\nconv2d(Input=x, Filter=w) -> ()", "Input", std::nullopt},
      {"var w f32[8,1,3,3]\ndepthwise_conv2d(Input=x, Filter=w) -> ()", "Filter", 0},
      {"var w f32[8,3,3,3]\nconv2d_transpose(Input=x, Filter=w) -> () {groups=2}", "Filter", 1},
      {"var w f32[4,2]\nmul(X=x, Y=w) -> ()", "Y", 1},
      {"var w f32[4,5,2]\nmul(X=x, Y=w) -> () {y_num_col_dims=2}", "Y", 2},
      {"var w f32[4,5,2]\nmul(X=x, Y=w) -> () {y_num_col_dims=1}", "Y", std::nullopt},
      {"mul(X=x, Y=w) -> ()", "Y", std::nullopt},
      {"var x f32[4,2]\nmul(X=x, Y=w) -> ()", "X", 0},
      {"var x f32[4,2,3]\nmul(X=x, Y=w) -> () {x_num_col_dims=2}", "X", std::nullopt},
      {"var w f32[4,2]\nmatmul(X=x, Y=w) -> ()", "Y", 1},
      {"var w f32[4,2]\nmatmul(X=x, Y=w) -> () {transpose_Y=true}", "Y", 0},
      {"var w f32[4,2]\nmatmul_v2(X=x, Y=w) -> () {trans_y=true}", "Y", 0},
      {"var w f32[6,4,2]\nmatmul_v2(X=x, Y=w) -> ()", "Y", 2},
      {"var w f32[4]\nmatmul_v2(X=x, Y=w) -> ()", "Y", std::nullopt},
      {"var w f32[4,2]\nmatmul_v2(X=w, Y=x) -> ()", "X", 0},
      {"var w f32[4,2]\nmatmul_v2(X=w, Y=x) -> () {trans_x=true}", "X", 1},
      {"var w f32[4,2]\nelementwise_add(X=x, Y=w) -> ()", "Y", std::nullopt},
  };
  for (const AxisCase& c : kCases) {
    const Program program = ProgramFromText(c.program);
    const Op& op = *program.block(0).first_op();
    EXPECT_EQ(FindOpSchema(op.type())->WeightAxis(op, c.slot, EraOf(program)), c.axis) << c.program;
  }
}

std::string GradientText(const char* forward, Era era) {
  const OpDesc op = DescFromText(forward).blocks(0).ops(0);
  std::vector<std::string> lines;
  for (const OpDesc& gradient : FindOpSchema(op.type())->MakeGradient(op, era)) {
    lines.push_back(PrintOp(gradient));
  }
  return absl::StrJoin(lines, "\n");
}

struct GradientCase {
  const char* forward;
  Era era;
  const char* gradient;
};

TEST(MakeGradient, MakesWhatTheReferenceMakes) {
  const GradientCase kCases[] = {
      {R"(mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=2, op_role=0, op_role_var=["a", "b"]})",
       Era::kPaddle2,
       "mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> (X@GRAD=x@GRAD, Y@GRAD=w@GRAD) "
       "{x_num_col_dims=2, op_role_var=strings[], op_role=1}"},
      {"conv2d(Input=x, Filter=w, Bias=[]) -> (Output=y)", Era::kFluid,
       "conv2d_grad(Bias=[], Filter=w, Input=x, Output@GRAD=y@GRAD) -> "
       "(Bias@GRAD=[], Filter@GRAD=w@GRAD, Input@GRAD=x@GRAD) {op_role=1}"},
      {"conv2d(Input=x, Filter=w) -> (Output=y)", Era::kPaddle2,
       "conv2d_grad(Filter=w, Input=x, Output@GRAD=y@GRAD) -> "
       "(Filter@GRAD=w@GRAD, Input@GRAD=x@GRAD) {op_role=1}"},
      {"leaky_relu(X=x) -> (Out=y)", Era::kFluid,
       "leaky_relu_grad(Out=y, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD) {op_role=1}"},
      {"leaky_relu(X=x) -> (Out=y)", Era::kPaddle2,
       "leaky_relu_grad(Out@GRAD=y@GRAD, X=x) -> (X@GRAD=x@GRAD) {op_role=1}"},
      {"sum(X=[a, b]) -> (Out=y)", Era::kFluid,
       "scale(X=y@GRAD) -> (Out=a@GRAD) {scale=1.0, op_role=1}\n"
       "scale(X=y@GRAD) -> (Out=b@GRAD) {scale=1.0, op_role=1}"},
      {"increment(X=i) -> (Out=i) {step=2.0}", Era::kFluid,
       "increment(X=i) -> (Out=i) {step=-2.0, op_role=1}"},
      {"scale(X=x) -> (Out=y) {scale=3.0, bias=1.0}", Era::kFluid,
       "scale(ScaleTensor=[], X=y@GRAD) -> (Out=x@GRAD) "
       "{scale=3.0, bias=0.0, bias_after_scale=true, op_role=1}"},
      {"split(X=x) -> (Out=[a, b]) {axis=1}", Era::kFluid,
       "concat(AxisTensor=[], X=[a@GRAD, b@GRAD]) -> (Out=x@GRAD) {axis=1, op_role=1}"},
      {"cast(X=x) -> (Out=y) {in_dtype=5, out_dtype=4}", Era::kFluid,
       "cast(X=y@GRAD) -> (Out=x@GRAD) {in_dtype=4, out_dtype=5, op_role=1}"},
      {"concat(X=[a, @EMPTY@]) -> (Out=y)", Era::kFluid,
       "concat_grad(AxisTensor=[], Out@GRAD=y@GRAD, X=[a, @EMPTY@]) -> "
       "(X@GRAD=[a@GRAD, @EMPTY@]) {op_role=1}"},
      {R"(sequence_pool(X=x) -> (Out=y, MaxIndex=m) {pooltype="SUM"})", Era::kFluid,
       R"(sequence_pool_grad(Out@GRAD=y@GRAD, X=x) -> (X@GRAD=x@GRAD) {pooltype="SUM", op_role=1})"},
      {"batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, "
       "SavedMean=n, SavedVariance=w) {use_global_stats=true}",
       Era::kFluid,
       "batch_norm_grad(Bias=b, Mean=m, ReserveSpace=[], SavedMean=n, SavedVariance=w, Scale=g, "
       "Variance=v, X=x, Y@GRAD=y@GRAD) -> (Bias@GRAD=b@GRAD, Scale@GRAD=g@GRAD, X@GRAD=x@GRAD) "
       "{use_global_stats=true, op_role=1}"},
      {"batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, "
       "SavedMean=n, SavedVariance=w) {use_global_stats=false}",
       Era::kFluid,
       "batch_norm_grad(Bias=b, ReserveSpace=[], SavedMean=n, SavedVariance=w, Scale=g, X=x, "
       "Y@GRAD=y@GRAD) -> (Bias@GRAD=b@GRAD, Scale@GRAD=g@GRAD, X@GRAD=x@GRAD) "
       "{use_global_stats=false, op_role=1}"},
      {"batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, "
       "SavedMean=n, SavedVariance=w, ReserveSpace=r) {is_test=true}",
       Era::kPaddle2,
       "batch_norm_grad(Bias=b, Mean=m, MeanOut=m, ReserveSpace=r, SavedMean=n, SavedVariance=w, "
       "Scale=g, Variance=v, VarianceOut=v, X=x, Y@GRAD=y@GRAD) -> "
       "(Bias@GRAD=b@GRAD, Scale@GRAD=g@GRAD, X@GRAD=x@GRAD) {is_test=true, op_role=1}"},
      {"fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s)", Era::kPaddle2, ""},
      {"fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s)", Era::kFluid, ""},
      {"fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s)", Era::kPaddle2,
       "stright_throuth_estimator_grad(Out@GRAD=q@GRAD) -> (X@GRAD=x@GRAD) {op_role=1}"},
  };
  for (const GradientCase& c : kCases) {
    EXPECT_EQ(GradientText(c.forward, c.era), c.gradient) << c.forward;
  }
}

TEST(MakeGradient, IsNotAskedOfOpsWhoseGradientIsNotWrittenDown) {
  EXPECT_TRUE(FindOpSchema("fake_quantize_abs_max")->gradient_known());
  EXPECT_FALSE(FindOpSchema("selu")->gradient_known());
}

}  // namespace
}  // namespace fixpoint
