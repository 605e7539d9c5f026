// A user's own quantizer, from training to the frozen program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ops/quant_math.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/moving_average.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/norm_quantizer.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class UsersQuantizer : public testing::Test {
 protected:
  UsersQuantizer() {
    EXPECT_TRUE(quantizers_.Add(std::make_unique<NormQuantizer>()).ok());
    TranspileOptions options;
    options.config.mutable_weights()->set_quantizer("abs_max");
    options.config.mutable_activations()->set_quantizer("norm");
    options.quantizers = &quantizers_;
    const absl::StatusOr<TranspileResult> result = Transpile(&program_, options);
    EXPECT_TRUE(result.ok()) << result.status();
  }

  QuantizerTable quantizers_;
  Program program_ = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    var y@GRAD f32[-1,2]
    var w@GRAD f32[2,2]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
    fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=257}
    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=@EMPTY@, Y@GRAD=w@GRAD) {op_role=1}
  )");
};

TEST_F(UsersQuantizer, IsWrittenAsSummaryThenObserverThenQuantizeOp) {
  const std::string text = PrintProgram(program_.Proto());
  EXPECT_THAT(text, HasSubstr("  var x.squared f32[1]\n  var x.norm f32[1]\n"));
  EXPECT_THAT(text,
              HasSubstr("squared_l2_norm(X=x) -> (Out=x.squared) {op_role=0, "
                        "fixpoint.inserted_by=\"insert_quantizers\"}\n"
                        "  sqrt(X=x.squared) -> (Out=x.norm) {op_role=0, "
                        "fixpoint.inserted_by=\"insert_quantizers\"}\n"
                        "  moving_average_abs_max_scale(X=x.norm, InState=x@state, "
                        "InAccum=x@accum) -> (Out=x.observed, OutScale=x@scale, OutState=x@state, "
                        "OutAccum=x@accum) {moving_rate=0.9, is_test=false"));
  EXPECT_THAT(text, HasSubstr("fake_quantize_moving_average_abs_max(X=x, InScale=x@scale) -> "
                              "(Out=x.quantized, OutScale=x@scale) {bit_length=8, "
                              "moving_rate=0.9, is_test=true"));
}

TEST_F(UsersQuantizer, IsFrozenToTheRangeThatItLearnt) {
  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  scope.Set("w@scale", Tensor::FromValues<float>({1}, {4}));
  scope.Set("x@scale", Tensor::FromValues<float>({1}, {2.5f}));
  FreezeOptions options;
  options.quantizers = &quantizers_;
  options.fetches = {"y"};
  const absl::StatusOr<FrozenModel> model = Freeze(program_, scope, options);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string text = PrintProgram(model->program.Proto());
  EXPECT_THAT(text, HasSubstr("quantize_linear(Scale=x@scale, X=x, "));
  EXPECT_THAT(text, Not(HasSubstr("squared")));
  EXPECT_THAT(text, Not(HasSubstr("moving_average")));
}

TEST_F(UsersQuantizer, IsUndone) {
  ASSERT_TRUE(Untranspile(&program_).ok());
  EXPECT_THAT(PrintProgram(program_.Proto()), Not(HasSubstr("norm")));
}

// A share of the largest absolute value, found anew from each tensor by an op of its own.
class ShareQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "share"; }
  absl::string_view doc() const override { return "A share of the largest absolute value."; }
  bool is_dynamic() const override { return true; }
  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }
  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    op.FloatAttr("share", static_cast<float>(Parameter(*this, spec, "share")));
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricDequantizeAttrs(spec, op);
  }
  void ReadParameters(const OpDesc& quantize, QuantSpec* spec) const override {
    (*spec->mutable_parameters())["share"] = FloatAttr(quantize, "share").value_or(1);
  }
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>>, int64_t) const override {
    return static_cast<float>(Parameter(*this, spec, "share")) * AbsMax(values);
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe recipe;
    recipe.quantize_op = "users_fake_quantize_share";
    recipe.dequantize_op = "fake_dequantize_max_abs";
    recipe.reference_runs_it = false;
    return {recipe};
  }

  const std::vector<QuantizerParameter> parameters_ = {{"share", 1, 0, 1, "of the largest"}};
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

TEST(UsersDynamicQuantizer, FindsTheScaleOfAFrozenWeight) {
  QuantizerTable quantizers;
  ASSERT_TRUE(quantizers.Add(std::make_unique<ShareQuantizer>()).ok());
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.mutable_weights()->set_quantizer("share");
  (*options.config.mutable_weights()->mutable_parameters())["share"] = 0.5;
  options.quantizers = &quantizers;
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(program.Proto()),
              HasSubstr("users_fake_quantize_share(X=w) -> (Out=w.quantized, OutScale=w@scale)"));

  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({2, 2}, {0.5f, -1, 3, 4}));
  scope.Set("w@scale", Tensor::FromValues<float>({1}, {1}));
  scope.Set("x@scale", Tensor::FromValues<float>({1}, {2.5f}));
  FreezeOptions freeze;
  freeze.quantizers = &quantizers;
  freeze.fetches = {"y"};
  const absl::StatusOr<FrozenModel> model = Freeze(program, scope, freeze);
  ASSERT_TRUE(model.ok()) << model.status();
  const Tensor& scale = std::get<Tensor>(*model->scope.FindOrNull("w.int8.scale"));
  EXPECT_THAT(scale.data<float>(), testing::ElementsAre(2));
  const Tensor& codes = std::get<Tensor>(*model->scope.FindOrNull("w.int8"));
  EXPECT_THAT(codes.data<int8_t>(), testing::ElementsAre(32, -64, 127, 127));
}

}  // namespace
}  // namespace fixpoint
