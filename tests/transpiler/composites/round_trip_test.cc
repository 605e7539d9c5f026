// Composites that are expanded and given back have the bytes that they had.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

// A block of composites alone, in a program of the release.
struct Case {
  const char* name;
  int version;
  const char* lines;
};

constexpr Case kCases[] = {
    {"Fc", 2006002, R"(
  var x f32[2,4]
  var w f32[4,3] persistable
  var b f32[3] persistable
  var v f32[3,5] persistable
  var y f32[2,3]
  var z f32[2,5]
  fc(Bias=b, Input=x, W=w) -> (Out=y) {activation_type="relu", in_num_col_dims=1}
  fc(Input=y, W=v) -> (Out=z) {in_num_col_dims=1}
)"},
    {"LayerNormOverOneAxis", 2006002, R"(
  var x f32[-1,3,4]
  var g f32[4] persistable
  var b f32[4] persistable
  var mean f32[-1]
  var variance f32[-1]
  var y f32[-1,3,4]
  layer_norm(Bias=b, Scale=g, X=x) -> (Mean=mean, Variance=variance, Y=y) {begin_norm_axis=2, epsilon=0.001}
)"},
    {"LayerNormsOverSeveral", 2006002, R"(
  var x f32[2,4,2,3]
  var g f32[24] persistable
  var b f32[24] persistable
  var mean f32[2]
  var variance f32[2]
  var y f32[2,4,2,3]
  var y_mean f32[2]
  var y_variance f32[2]
  var z f32[2,4,2,3]
  var z_mean f32[2]
  var z_variance f32[2]
  var a f32[2,4,2,3]
  layer_norm(Scale=g, X=x) -> (Mean=mean, Variance=variance, Y=y) {begin_norm_axis=1}
  layer_norm(Bias=b, X=y) -> (Mean=y_mean, Variance=y_variance, Y=z) {begin_norm_axis=1}
  layer_norm(X=z) -> (Mean=z_mean, Variance=z_variance, Y=a) {begin_norm_axis=1}
)"},
    {"GroupNorms", 2006002, R"(
  var x f32[2,4,2,3]
  var c f32[4] persistable
  var mean f32[2,2]
  var variance f32[2,2]
  var y f32[2,4,2,3]
  var y_mean f32[2,2]
  var y_variance f32[2,2]
  var z f32[2,4,2,3]
  group_norm(Bias=c, Scale=c, X=x) -> (Mean=mean, Variance=variance, Y=y) {groups=2}
  group_norm(X=y) -> (Mean=y_mean, Variance=y_variance, Y=z) {groups=2}
)"},
    {"Functions", 2006002, R"(
  var x f32[2,3,4]
  var a f32[2,3,4]
  var b f32[2,3,4]
  var c f32[2,3,4]
  var d f32[2,3,4]
  var e f32[2,3,4]
  var y f32[2,3,4]
  softmax(X=x) -> (Out=a) {axis=1}
  gelu(X=a) -> (Out=b)
  gelu(X=b) -> (Out=c) {approximate=true}
  swish(X=c) -> (Out=d) {beta=1.0}
  swish(X=d) -> (Out=e) {beta=1.5}
  silu(X=e) -> (Out=y)
)"},
    {"Attention", 2006002, R"(
  var q f32[2,3,4]
  var k f32[2,5,4]
  var v f32[2,5,6]
  var mask f32[2,3,5]
  var y f32[2,3,6]
  var z f32[2,3,6]
  scaled_dot_product_attention(K=k, Mask=mask, Q=q, V=v) -> (Out=y) {alpha=0.5}
  scaled_dot_product_attention(K=k, Q=q, V=v) -> (Out=z) {alpha=0.5}
)"},
    {"LstmBothWays", 2006002, R"(
  var x f32[3,2,2]
  var h0 f32[2,2,2]
  var c0 f32[2,2,2]
  var w f32[8,2] persistable
  var b f32[8] persistable
  var y f32[3,2,4]
  var r f32[]
  var h f32[2,2,2]
  var c f32[2,2,2]
  rnn(Input=x, PreState=[h0, c0], WeightList=[w, w, w, w, b, b, b, b]) -> (Out=y, Reserve=r, State=[h, c]) {mode="LSTM", is_bidirec=true, hidden_size=2, input_size=2}
)"},
    {"Gru", 2006002, R"(
  var x f32[3,2,2]
  var h0 f32[1,2,2]
  var w f32[6,2] persistable
  var b f32[6] persistable
  var y f32[3,2,2]
  var r f32[]
  var h f32[1,2,2]
  rnn(Input=x, PreState=[h0], WeightList=[w, w, b, b]) -> (Out=y, Reserve=r, State=[h]) {mode="GRU", hidden_size=2, input_size=2}
)"},
    {"LayersOfBothDirections", 2006002, R"(
  var x f32[2,1,2]
  var h0 f32[4,1,2]
  var i0 f32[2,2]
  var i1 f32[2,4]
  var h f32[2,2]
  var b f32[2]
  var y f32[2,1,4]
  var r f32[]
  var s f32[4,1,2]
  rnn(Input=x, PreState=[h0], WeightList=[i0, h, i0, h, i1, h, i1, h, b, b, b, b, b, b, b, b]) -> (Out=y, Reserve=r, State=[s]) {mode="RNN_TANH", is_bidirec=true, hidden_size=2, num_layers=2, input_size=2}
)"},
    {"Units", 1008005, R"(
  var x f32[2,8]
  var before f32[2,2]
  var c f32[2,2]
  var h f32[2,2]
  var p f32[2,6]
  var w f32[2,6] persistable
  var b f32[1,6] persistable
  var gate f32[2,6]
  var reset f32[2,2]
  var n f32[2,2]
  var n_gate f32[2,6]
  var n_reset f32[2,2]
  var m f32[2,2]
  lstm_unit(C_prev=before, X=x) -> (C=c, H=h) {forget_bias=0.5}
  gru_unit(Bias=b, HiddenPrev=h, Input=p, Weight=w) -> (Gate=gate, Hidden=n, ResetHiddenPrev=reset) {activation=3, origin_mode=true}
  gru_unit(HiddenPrev=n, Input=p, Weight=w) -> (Gate=n_gate, Hidden=m, ResetHiddenPrev=n_reset)
)"},
    {"LstmOverOffsets", 2006002, R"(
  var x f32[-1,8] lod=1
  var w f32[2,8] persistable
  var b f32[1,14] persistable
  var h0 f32[-1,2]
  var c0 f32[-1,2]
  var h f32[-1,2] lod=1
  var c f32[-1,2] lod=1
  var scratch f32[-1,8]
  var pre f32[-1,2]
  var y f32[-1,2] lod=1
  lstm(Bias=b, C0=c0, H0=h0, Input=x, Weight=w) -> (BatchCellPreAct=pre, BatchGate=scratch, Cell=c, Hidden=h) {is_reverse=true}
  silu(X=c) -> (Out=y)
)"},
    {"GruOverOffsets", 1008005, R"(
  var x f32[-1,6] lod=1
  var w f32[2,6] persistable
  var h f32[-1,2] lod=1
  var scratch f32[-1,6]
  var reset f32[-1,2]
  var hidden f32[-1,2]
  gru(Input=x, Weight=w) -> (BatchGate=scratch, BatchHidden=hidden, BatchResetHiddenPrev=reset, Hidden=h)
)"},
};

Program ProgramOf(const Case& one) {
  return ParsedProgram(
      absl::StrCat("program version=", one.version, "\nblock 0 {", one.lines, "}\n"));
}

class RoundTripTest : public testing::TestWithParam<Case> {};

TEST_P(RoundTripTest, GivesTheSameBytes) {
  Program program = ProgramOf(GetParam());
  const std::string original = Bytes(program);
  std::set<std::string> types;
  for (const Op& op : program.ops()) types.insert(op.type());
  program = Expanded(program);
  for (const Op& op : program.ops()) EXPECT_EQ(types.count(op.type()), 0) << DescribeInFile(op);
  // Saved and loaded.
  program = *Program::Create(program.Proto());
  const auto report = RunPasses(&program, "raise_composites");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Bytes(program), original);
}

INSTANTIATE_TEST_SUITE_P(All, RoundTripTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RoundTrip, HasEveryKindOfComposite) {
  std::set<std::string> types;
  for (const Case& one : kCases) {
    const Program program = ProgramOf(one);
    for (const Op& op : program.ops()) types.insert(op.type());
  }
  EXPECT_THAT(types, testing::ElementsAreArray(ExpandableTypes()));
}

TEST(RoundTrip, ResultsMayBeWrittenByOtherOpsToo) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,4]
  var w f32[4,4] persistable
  var a f32[2,4]
  var y f32[2,4]
  var z f32[2,4]
  fc(Input=x, W=w) -> (Out=y) {in_num_col_dims=1}
  relu(X=y) -> (Out=a)
  swish(X=a) -> (Out=y) {beta=1.0}
  tanh(X=y) -> (Out=z)
  fc(Input=x, W=w) -> (Out=y) {in_num_col_dims=1}
}
)");
  Program raised = Expanded(program);
  const auto report = RunPasses(&raised, "raise_composites");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Bytes(raised), Bytes(program));
}

TEST(RoundTrip, GradientOpsComeBackToo) {
  Program program = ParsedProgram(kTrained);
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  program.ForgetEdits();
  const std::string original = Bytes(program);
  program = Expanded(program);
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

TEST(RoundTrip, DeclarationsThatWereRemovedComeBack) {
  Program program = Expanded(ProgramOf(kCases[1]));
  Rewriter(&program, "test").Remove(*program.Find(program.block(0), "mean"));
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_NE(program.Find(program.block(0), "mean"), nullptr);
}

TEST(RoundTrip, UndoTakesTheMapAlong) {
  Program program = ParsedProgram(kTrained);
  const std::string original = Bytes(program);
  auto passes = RewritePasses({});
  ASSERT_TRUE(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = "expand_composites";
  ASSERT_TRUE(Rewrite(&program, {}, options).ok());
  const std::string expanded = Bytes(program);
  options.pipeline = "raise_composites";
  ASSERT_TRUE(Rewrite(&program, {}, options).ok());
  EXPECT_FALSE(program.Proto().has_composites());
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), expanded);
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), original);
}

}  // namespace
}  // namespace fixpoint
