// Which ops after a product are folded into it, by what a program declares.

#include "ops/codes/folded_ops.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/codes/declared_facts.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

constexpr char kImages[] = R"(
    var w f32[8,3,3,3] persistable
    var b f32[8] persistable
    var m f32[8] persistable
    var x f32[-1,3,8,8]
    var y f32[-1,8,6,6]
    var z f32[-1,8,6,6]
    var n f32[-1,8,6,6]
    var r f32[-1,8,6,6]
    conv2d(Input=x, Filter=w) -> (Output=y)
)";

ProductResult ResultOf(const Op& product) {
  const ProductTrait& trait = *TraitsOf(product).product;
  const Argument& output = *product.Output(trait.output);
  ProductResult result{output.value(), {}, 0};
  const VarType::TensorDesc* const tensor = output.variable()->tensor();
  if (tensor != nullptr) result.dims.assign(tensor->dims().begin(), tensor->dims().end());
  result.channel_axis = trait.ChannelAxis(*OpAttributes::Of(product.desc(), Era::kPaddle2),
                                          static_cast<int>(result.dims.size()));
  return result;
}

std::string TextOf(const FoldedOp& fold) {
  std::string text = fold.op->type();
  for (const EpilogueStage& stage : fold.stages) {
    absl::StrAppend(&text, " ", StageName(stage.kind));
  }
  if (fold.addend != nullptr) absl::StrAppend(&text, " of ", fold.addend->name());
  return absl::StrCat(text, " -> ", fold.output->name());
}

// What is folded into the first product, a line for each op, and why the next one is not.
std::string FoldsIn(const std::string& ops, const std::string& before = kImages) {
  const Program program =
      ProgramFromText(absl::StrCat("program version=2006002\nblock 0 {\n", before, ops, "\n}\n"));
  const DeclaredFacts facts(EraOf(program));
  for (const Op& op : program.block(0).ops()) {
    if (!TraitsOf(op).product) continue;
    ProductResult result = ResultOf(op);
    std::string text;
    for (const FoldedOp& fold : FindFoldedOps(result, facts)) {
      absl::StrAppend(&text, TextOf(fold), "\n");
      result.value = fold.output->value();
    }
    if (const Op* const next = facts.OnlyReader(*result.value)) {
      const IntegerReason reason = std::get<IntegerReason>(DecideFold(*next, result, facts));
      absl::StrAppend(&text, next->type(), ": ", IntegerReasonCode(reason), "\n");
    }
    return text;
  }
  return "no product";
}

TEST(FoldedOps, AreBiasNormResidualAndActivationInOrder) {
  EXPECT_EQ(FoldsIn(R"(
      elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
      batch_norm(X=z, Scale=b, Bias=b, Mean=m, Variance=m) -> (Y=n, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv) {is_test=true}
      elementwise_add(X=r, Y=n) -> (Out=sum)
      relu(X=sum) -> (Out=out))"),
            "elementwise_add add_channel of b -> z\n"
            "batch_norm multiply_channel add_channel -> n\n"
            "elementwise_add add_element of r -> sum\n"
            "relu relu -> out\n");
}

TEST(FoldedOps, EndWhereAnotherOpReadsTheValueBetween) {
  EXPECT_EQ(FoldsIn("relu(X=y) -> (Out=z)\nrelu(X=z) -> (Out=a)\ntanh(X=z) -> (Out=c)"),
            "relu relu -> z\n");
}

TEST(FoldedOps, BiasHasAnElementForEachChannel) {
  EXPECT_EQ(FoldsIn("var c f32[8,1,1] persistable\nelementwise_add(X=y, Y=c) -> (Out=z) {axis=1}"),
            "elementwise_add add_channel of c -> z\n");
  EXPECT_EQ(
      FoldsIn("var c f32[1,8,1,1] persistable\nelementwise_add(X=y, Y=c) -> (Out=z) {axis=1}"),
      "elementwise_add add_channel of c -> z\n");
  EXPECT_EQ(FoldsIn("var c f32[6] persistable\nelementwise_add(X=y, Y=c) -> (Out=z)"),
            "elementwise_add: attributes\n");
  EXPECT_EQ(FoldsIn("elementwise_add(X=b, Y=y) -> (Out=z) {axis=1}"),
            "elementwise_add: attributes\n");
}

TEST(FoldedOps, ShapesThatNothingDeclaresAreUnknown) {
  EXPECT_EQ(FoldsIn("elementwise_add(X=y, Y=unknown) -> (Out=z)"),
            "elementwise_add: unknown_shape\n");
}

TEST(FoldedOps, NormByTheBatchIsNone) {
  EXPECT_EQ(FoldsIn("batch_norm(X=y, Scale=b, Bias=b, Mean=m, Variance=m) -> (Y=n, MeanOut=m, "
                    "VarianceOut=m, SavedMean=sm, SavedVariance=sv)"),
            "batch_norm: attributes\n");
}

TEST(FoldedOps, NormOfOtherChannelsIsNone) {
  EXPECT_EQ(FoldsIn("batch_norm(X=y, Scale=b, Bias=b, Mean=m, Variance=m) -> (Y=n, MeanOut=m2, "
                    "VarianceOut=v2, SavedMean=sm, SavedVariance=sv) {is_test=true, "
                    "data_layout=\"NHWC\"}"),
            "batch_norm: attributes\n");
  EXPECT_EQ(FoldsIn("var c f32[6] persistable\nbatch_norm(X=y, Scale=c, Bias=c, Mean=c, "
                    "Variance=c) -> (Y=n, MeanOut=m2, VarianceOut=v2, SavedMean=sm, "
                    "SavedVariance=sv) {is_test=true}"),
            "batch_norm: attributes\n");
}

TEST(FoldedOps, ChannelsOfAMatrixAreItsColumns) {
  const std::string matrices = R"(
      var w f32[6,8] persistable
      var b f32[8] persistable
      var x f32[-1,6]
      var y f32[-1,8]
      var z f32[-1,8]
      mul(X=x, Y=w) -> (Out=y)
      )";
  EXPECT_EQ(FoldsIn("elementwise_add(X=y, Y=b) -> (Out=z)", matrices),
            "elementwise_add add_channel of b -> z\n");
}

TEST(FoldedOps, ResidualThatMayBeCodesIsLeft) {
  EXPECT_EQ(FoldsIn(R"(
      fake_quantize_dequantize_abs_max(X=x2) -> (Out=r, OutScale=rs) {bit_length=8}
      elementwise_add(X=r, Y=y) -> (Out=z))"),
            "elementwise_add: at_edge\n");
}

// The stage makes a NaN the lower bound, which codes have as well.
TEST(FoldedOps, ClipIsOneWhereItsResultBecomesCodes) {
  EXPECT_EQ(FoldsIn("relu6(X=y) -> (Out=z) {threshold=6.0}\ntanh(X=z) -> (Out=a)"),
            "relu6: keeps_nan\n");
  EXPECT_EQ(FoldsIn(R"(
      var s f32[1] persistable
      var zero i8[1] persistable
      relu6(X=y) -> (Out=z) {threshold=6.0}
      quantize_linear(X=z, Scale=s, ZeroPoint=zero) -> (Y=q) {bit_length=8, is_test=true})"),
            "relu6 clip -> z\nquantize_linear: not_after_product\n");
}

// A concat that reads the result once hands the codes on; what is read twice, or handed on in
// parts, is stored as floats, with their NaNs and signs of zeros.
TEST(FoldedOps, ClipIsOneWhereItsResultIsMovedToOnePlace) {
  const std::string coded = R"(
      var s f32[1] persistable
      var zero i8[1] persistable
      var c f32[-1,16,6,6]
      var o f32[-1,8,6,6]
      quantize_linear(X=c, Scale=s, ZeroPoint=zero) -> (Y=q) {bit_length=8, is_test=true})";
  const std::string clip = "leaky_relu(X=y) -> (Out=z) {alpha=0.0}\n";
  EXPECT_EQ(FoldsIn(absl::StrCat(clip, "concat(X=[z, o]) -> (Out=c) {axis=1}", coded)),
            "leaky_relu relu -> z\nconcat: not_after_product\n");
  EXPECT_EQ(FoldsIn(absl::StrCat(clip, "concat(X=[z, z]) -> (Out=c) {axis=1}", coded)),
            "leaky_relu: keeps_nan\n");
  EXPECT_EQ(FoldsIn(absl::StrCat(clip, "split(X=z) -> (Out=[c, d]) {axis=1, num=2}", coded, R"(
      quantize_linear(X=d, Scale=s, ZeroPoint=zero) -> (Y=q2) {bit_length=8, is_test=true})")),
            "leaky_relu: keeps_nan\n");
}

// A batch norm between them reads a number instead of the NaN, and is folded too.
TEST(FoldedOps, ClipIsOneBeforeANormWhoseResultBecomesCodes) {
  const std::string normed =
      "relu6(X=y) -> (Out=z) {threshold=6.0}\n"
      "batch_norm(X=z, Scale=b, Bias=b, Mean=m, Variance=m) -> (Y=n, MeanOut=m2, VarianceOut=v2, "
      "SavedMean=sm, SavedVariance=sv) {is_test=true";
  const std::string coded = R"(
      var s f32[1] persistable
      var zero i8[1] persistable
      quantize_linear(X=n, Scale=s, ZeroPoint=zero) -> (Y=q) {bit_length=8, is_test=true})";
  EXPECT_EQ(FoldsIn(normed + "}" + coded),
            "relu6 clip -> z\nbatch_norm multiply_channel add_channel -> n\n"
            "quantize_linear: not_after_product\n");
  EXPECT_EQ(FoldsIn(normed + "}\ntanh(X=n) -> (Out=a)"), "relu6: keeps_nan\n");
  EXPECT_EQ(FoldsIn(normed + ", data_layout=\"NHWC\"}" + coded), "relu6: keeps_nan\n");
}

TEST(FoldedOps, OpThatIsNoStageIsNone) {
  EXPECT_EQ(FoldsIn("softmax(X=y) -> (Out=z)"), "softmax: not_after_product\n");
  EXPECT_EQ(FoldsIn("sigmoid(X=y) -> (Out=z)"), "sigmoid: not_quantized\n");
}

}  // namespace
}  // namespace fixpoint
