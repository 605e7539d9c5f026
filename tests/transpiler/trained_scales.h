// What the tests of quantizers with a trained scale share.

#ifndef FIXPOINT_TESTS_TRANSPILER_TRAINED_SCALES_H_
#define FIXPOINT_TESTS_TRANSPILER_TRAINED_SCALES_H_

#include <gtest/gtest.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "tests/testing/learned_quantizer.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

// z = x v w, and a step of gradient descent.
inline constexpr char kTwoProducts[] = R"(
  var x f32[-1,2]
  var v f32[2,2] persistable is_parameter
  var w f32[2,2] persistable is_parameter
  var y f32[-1,2]
  var z f32[-1,2]
  var rate f32[1] persistable
  var y@GRAD f32[-1,2]
  var z@GRAD f32[-1,2]
  var v@GRAD f32[2,2]
  var w@GRAD f32[2,2]
  var fetched fetch_list persistable
  mul(X=x, Y=v) -> (Out=y)
  mul(X=y, Y=w) -> (Out=z)
  fill_constant() -> (Out=z@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=257}
  mul_grad(X=y, Y=w, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD, Y@GRAD=w@GRAD) {op_role=1}
  mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (Y@GRAD=v@GRAD) {op_role=1}
  sgd(Grad=v@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v) {op_role=2}
  sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
  fetch(X=z) -> (Out=fetched) {col=0}
)";

// Transpiles with a quantizer of activations whose scale is trained.
class TrainedScales : public testing::Test {
 protected:
  TrainedScales() {
    EXPECT_TRUE(quantizers_.Add(std::make_unique<LearnedQuantizer>()).ok());
    options_.quantizers = &quantizers_;
    options_.config.set_target("onednn_int8");
    options_.config.mutable_weights()->set_quantizer("abs_max");
    options_.config.mutable_activations()->set_quantizer("learned");
    options_.config.mutable_activations()->set_form(QuantSpec::FUSED);
  }

  // The program, transpiled, without its edit log.
  Program Transpiled(absl::string_view text) {
    Program program = ParsedProgram(text);
    const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
    EXPECT_TRUE(result.ok()) << result.status();
    program.ClearEditLog();
    return program;
  }

  QuantizerTable quantizers_;
  TranspileOptions options_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TRANSPILER_TRAINED_SCALES_H_
