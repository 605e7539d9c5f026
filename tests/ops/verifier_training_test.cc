// Faults of training programs and of what quantizes them, one planted per case, with the text that
// it is reported by.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "tests/ops/finding_case.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

class VerifierFindsInTraining : public testing::TestWithParam<FindingCase> {};

TEST_P(VerifierFindsInTraining, AndSaysWhere) { ExpectFindings(GetParam()); }

// By its type it is one, where ops have no roles.
TEST(Verifier, LetsAGradientOpReadTheCopyThatItsForwardOpRead) {
  for (const char* role : {"{op_role=1}", ""}) {
    const std::string program = absl::StrCat(R"(
var x f32[3,4]
var w f32[4,2] persistable
var x.q f32[3,4]
var s f32[1]
var a f32[3,2]
var a@GRAD f32[3,2]
var w@GRAD f32[4,2]
fake_quantize_dequantize_abs_max(X=x) -> (Out=x.q, OutScale=s)
mul(X=x.q, Y=w) -> (Out=a)
scale(X=x) -> (Out=x) {scale=2.0}
fill_any_like(X=a) -> (Out=a@GRAD) )",
                                             role, R"(
mul_grad(X=x.q, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) )",
                                             role, "\n");
    ExpectFindings({role, program.c_str(), ""});
  }
}

constexpr FindingCase kTraining[] = {
    {"NothingInATrainingStep", R"(
var x f32[-1,4] need_check_feed
var w f32[4,2] persistable
var y f32[-1,2]
var y@GRAD f32[-1,2]
var w@GRAD f32[4,2]
var lr f32[1] persistable
mul(X=x, Y=w) -> (Out=y) {op_role=0}
fill_any_like(X=y) -> (Out=y@GRAD) {value=1.0, op_role=1}
mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
sgd(Param=w, Grad=w@GRAD, LearningRate=lr) -> (ParamOut=w) {op_role=2, op_role_var=["w", "w@GRAD"]}
)",
     ""},
    {"AGradientOpThatReadsAnotherVariable", R"(
var x f32[-1,4]
var w f32[4,2] persistable
var v f32[4,2] persistable
var y f32[-1,2]
var y@GRAD f32[-1,2]
var w@GRAD f32[4,2]
mul(X=x, Y=w) -> (Out=y)
fill_any_like(X=y) -> (Out=y@GRAD) {value=1.0}
mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
)",
     R"(error: p: block 0, op 2 (mul_grad): input Y reads "v"; want "w", which block 0, op 0 (mul) reads [gradient_mismatch]
    mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
)"},
    {"AGradientOpThatReadsAfterAWriteInPlace", R"(
var x f32[-1,4]
var w f32[4,2] persistable
var y f32[-1,2]
var y@GRAD f32[-1,2]
var w@GRAD f32[4,2]
mul(X=x, Y=w) -> (Out=y)
scale(X=x) -> (Out=x) {scale=2.0}
fill_any_like(X=y) -> (Out=y@GRAD) {value=1.0}
mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
)",
     R"(error: p: block 0, op 3 (mul_grad): input X reads "x" after it was written again; want the value of it, which block 0, op 0 (mul) reads [gradient_mismatch]
    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
)"},
    {"AGradientOpWithoutItsForwardOp", R"(
var y f32[-1,2]
var g f32[-1,2]
var h f32[-1,2]
relu_grad(Out=y, Out@GRAD=g) -> (X@GRAD=h)
)",
     R"(error: p: block 0, op 0 (relu_grad): no relu has the values that this op reads [gradient_mismatch]
    relu_grad(Out=y, Out@GRAD=g) -> (X@GRAD=h)
)"},
    {"NothingInAGradientThatReadsGlobalStatistics", R"(
var x f32[2,3,4,4]
var g f32[3] persistable
var b f32[3] persistable
var m f32[3] persistable
var v f32[3] persistable
var y f32[2,3,4,4]
var n f32[3]
var w f32[3]
var y@GRAD f32[2,3,4,4]
var x@GRAD f32[2,3,4,4]
batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, SavedMean=n, SavedVariance=w) {use_global_stats=true}
fill_any_like(X=y) -> (Out=y@GRAD) {value=1.0}
batch_norm_grad(X=x, Scale=g, Bias=b, Mean=m, Variance=v, SavedMean=n, SavedVariance=w, Y@GRAD=y@GRAD) -> (X@GRAD=x@GRAD) {use_global_stats=true}
)",
     ""},
    {"NothingInGradientsOfBatchNormsThatShareStatistics", R"(
var x f32[2,3,4,4]
var g f32[3] persistable
var b f32[3] persistable
var m f32[3] persistable
var v f32[3] persistable
var y f32[2,3,4,4]
var z f32[2,3,4,4]
var n f32[3]
var w f32[3]
var o f32[3]
var u f32[3]
var z@GRAD f32[2,3,4,4]
var y@GRAD f32[2,3,4,4]
var x@GRAD f32[2,3,4,4]
batch_norm(X=x, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, SavedMean=n, SavedVariance=w) {use_global_stats=true}
batch_norm(X=y, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=z, MeanOut=m, VarianceOut=v, SavedMean=o, SavedVariance=u) {use_global_stats=true}
fill_any_like(X=z) -> (Out=z@GRAD) {value=1.0}
batch_norm_grad(X=y, Scale=g, Bias=b, Mean=m, Variance=v, SavedMean=o, SavedVariance=u, Y@GRAD=z@GRAD) -> (X@GRAD=y@GRAD) {use_global_stats=true}
batch_norm_grad(X=x, Scale=g, Bias=b, Mean=m, Variance=v, SavedMean=n, SavedVariance=w, Y@GRAD=y@GRAD) -> (X@GRAD=x@GRAD) {use_global_stats=true}
)",
     ""},
    {"AGradientOpInTheForwardRole", R"(
var x f32[-1,4]
var g f32[-1,4]
var h f32[-1,4]
relu(X=x) -> (Out=x) {op_role=0}
relu_grad(Out=x, Out@GRAD=g) -> (X@GRAD=h) {op_role=0}
)",
     R"(warning: p: block 0, op 1 (relu_grad): op_role of a gradient op is 0; want the Backward bit (1) [role]
    relu_grad(Out=x, Out@GRAD=g) -> (X@GRAD=h) {op_role=0}
)"},
    {"BitsOfARoleThatMeanNothing", R"(
var x f32[-1,4]
relu(X=x) -> (Out=x) {op_role=512}
)",
     R"(warning: p: block 0, op 0 (relu): op_role is 512, which has bits without a meaning [role]
    relu(X=x) -> (Out=x) {op_role=512}
)"},
    {"AnOptimizerOutOfItsRole", R"(
var w f32[4,2] persistable
var g f32[4,2]
var lr f32[1] persistable
sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w) {op_role=0}
)",
     R"(warning: p: block 0, op 0 (sgd): op_role of an optimizer is 0; want the Optimize bit (2) [role]
    sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w) {op_role=0}
)"},
    {"AnOptimizerThatUpdatesAnotherVariable", R"(
var w f32[4,2] persistable
var v f32[4,2] persistable
var g f32[4,2]
var lr f32[1] persistable
sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=v)
)",
     R"(error: p: block 0, op 0 (sgd): Param is "w" and ParamOut is "v"; want one variable [optimizer_update]
    sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=v)
)"},
    {"AnOptimizerOfWhatIsNoParameter", R"(
var w f32[4,2]
var g f32[4,2]
var lr f32[1] persistable
sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w)
)",
     R"(error: p: block 0, op 0 (sgd): Param "w" is not persistable; want a parameter [optimizer_update]
    sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w)
)"},
    {"ARoleVariableThatIsNoParameter", R"(
var w.dequantized f32[4,2]
var w@GRAD f32[4,2]
relu(X=w.dequantized) -> (Out=w@GRAD) {op_role=1, op_role_var=["w.dequantized", "w@GRAD"]}
)",
     R"(error: p: block 0, op 0 (relu): op_role_var names "w.dequantized", which is not persistable; want the parameter whose gradient is "w@GRAD" [op_role_var]
    relu(X=w.dequantized) -> (Out=w@GRAD) {op_role=1, op_role_var=["w.dequantized", "w@GRAD"]}
)"},
    {"ARoleVariableThatIsNotDeclared", R"(
var w f32[4,2] persistable
relu(X=w) -> (Out=w) {op_role=1, op_role_var=["w", "w@GRAD"]}
)",
     R"(error: p: block 0, op 0 (relu): op_role_var names "w@GRAD", which nothing declares; want the gradient of "w" [op_role_var]
    relu(X=w) -> (Out=w) {op_role=1, op_role_var=["w", "w@GRAD"]}
)"},
    {"RoleVariablesThatAreNoPairs", R"(
var w f32[4,2] persistable
relu(X=w) -> (Out=w) {op_role=1, op_role_var=["w"]}
)",
     R"(error: p: block 0, op 0 (relu): op_role_var has 1 names; want pairs of a parameter and its gradient [op_role_var]
    relu(X=w) -> (Out=w) {op_role=1, op_role_var=["w"]}
)"},
};
INSTANTIATE_TEST_SUITE_P(Training, VerifierFindsInTraining, testing::ValuesIn(kTraining),
                         FindingCaseName);

constexpr FindingCase kQuantization[] = {
    {"WhatIsQuantizedTwice", R"(
var w f32[4,2] persistable
var q f32[4,2]
var d f32[4,2]
var qq f32[4,2]
var s f32[1]
var ss f32[1]
fake_quantize_abs_max(X=w) -> (Out=q, OutScale=s)
fake_dequantize_max_abs(X=q, Scale=s) -> (Out=d) {max_range=127.0}
fake_quantize_abs_max(X=d) -> (Out=qq, OutScale=ss)
)",
     R"(error: p: block 0, op 2 (fake_quantize_abs_max): "d" was quantized by block 0, op 0 (fake_quantize_abs_max) already; want it quantized once [nested_quantize]
    fake_quantize_abs_max(X=d) -> (Out=qq, OutScale=ss)
)"},
    {"NothingInTheDequantizedResultOfAProduct", R"(
var x f32[3,4]
var w f32[4,2] persistable
var s f32[1] persistable
var o f32[3,2]
var d f32[3,2]
var q f32[3,2]
var t f32[1]
mul(X=x, Y=w) -> (Out=o)
fake_dequantize_max_abs(X=o, Scale=s) -> (Out=d) {max_range=16129.0}
fake_quantize_abs_max(X=d) -> (Out=q, OutScale=t)
)",
     ""},
    {"AQuantizedCopyReadAfterTheOriginalChanged", R"(
var x f32[3,4]
var w f32[4,2] persistable
var x.q f32[3,4]
var x.dq f32[3,4]
var s f32[1]
var a f32[3,2]
var b f32[3,2]
fake_quantize_abs_max(X=x) -> (Out=x.q, OutScale=s)
fake_dequantize_max_abs(X=x.q, Scale=s) -> (Out=x.dq) {max_range=127.0}
mul(X=x.dq, Y=w) -> (Out=a)
scale(X=x) -> (Out=x) {scale=2.0}
mul(X=x.dq, Y=w) -> (Out=b)
)",
     R"(error: p: block 0, op 4 (mul): input X reads "x.dq", the quantized copy of "x", which block 0, op 3 (scale) has written since [stale_quantized_read]
    mul(X=x.dq, Y=w) -> (Out=b)
)"},
    {"ALearningQuantizerWithoutItsState", R"(
var x f32[3,4]
var q f32[3,4]
var s f32[1] persistable
fake_quantize_moving_average_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s) {is_test=false}
)",
     R"(error: p: block 0, op 0 (fake_quantize_moving_average_abs_max): is_test is false, and input InState is missing; want the state that a training step updates [quantizer_state]
    fake_quantize_moving_average_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s) {is_test=false}
error: p: block 0, op 0 (fake_quantize_moving_average_abs_max): is_test is false, and input InAccum is missing; want the state that a training step updates [quantizer_state]
    fake_quantize_moving_average_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s) {is_test=false}
)"},
    {"StateThatIsNotUpdatedInPlace", R"(
var x f32[3,4]
var q f32[3,4]
var s f32[1] persistable
var t f32[1] persistable
var n i64[1] persistable
var window f32[10000] persistable
fake_quantize_range_abs_max(X=x, InScale=s, Iter=n) -> (Out=q, OutScale=t, OutScales=window)
)",
     R"(error: p: block 0, op 0 (fake_quantize_range_abs_max): InScale is "s" and OutScale is "t"; want one variable, updated in place [quantizer_state]
    fake_quantize_range_abs_max(X=x, InScale=s, Iter=n) -> (Out=q, OutScale=t, OutScales=window)
)"},
    {"AWindowThatATrainingStepDoesNotGet", R"(
var x f32[3,4]
var q f32[3,4]
var s f32[1] persistable
fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s)
)",
     R"(error: p: block 0, op 0 (fake_quantize_range_abs_max): is_test is false, and input Iter is missing; want the state that a training step updates [quantizer_state]
    fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s)
error: p: block 0, op 0 (fake_quantize_range_abs_max): is_test is false, and output OutScales is missing; want the state that a training step updates [quantizer_state]
    fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s)
)"},
    {"NothingInAWindowThatInferenceDoesNotGet", R"(
var x f32[3,4]
var q f32[3,4]
var s f32[1] persistable
fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s) {is_test=true}
)",
     ""},
    {"AveragesAndAZeroPointThatAreNotUpdated", R"(
var x f32[3,4]
var q f32[3,4]
var s f32[1] persistable
var z f32[1] persistable
var y f32[1] persistable
var n f32[1] persistable
var a f32[1] persistable
fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=a) -> (Out=q, OutScale=s, OutZeroPoint=y, OutState=n, OutAccumMin=a)
)",
     R"(error: p: block 0, op 0 (fake_quantize_moving_average_min_max): InZeroPoint is "z" and OutZeroPoint is "y"; want one variable, updated in place [quantizer_state]
    fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=a) -> (Out=q, OutScale=s, OutZeroPoint=y, OutState=n, OutAccumMin=a)
error: p: block 0, op 0 (fake_quantize_moving_average_min_max): is_test is false, and input InAccumMax is missing; want the state that a training step updates [quantizer_state]
    fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=a) -> (Out=q, OutScale=s, OutZeroPoint=y, OutState=n, OutAccumMin=a)
)"},
};
INSTANTIATE_TEST_SUITE_P(Quantization, VerifierFindsInTraining, testing::ValuesIn(kQuantization),
                         FindingCaseName);

// Each of n dequantize ops' slots, times each of n readers of the copy, would be n * n findings.
TEST(Verifier, ReportsAStaleReadOnceForEachReadOfIt) {
  const std::string many_q = absl::StrJoin(std::vector<std::string>(100, "q"), ", ");
  const std::string many_d = absl::StrJoin(std::vector<std::string>(100, "d"), ", ");
  const Program program = ProgramFromText(absl::StrCat(R"(
var x f32[4] persistable
var q f32[4]
var d f32[4]
var y f32[4]
var s f32[1]
fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s)
fake_dequantize_max_abs(X=[)",
                                                       many_q, R"(], Scale=s) -> (Out=d)
scale(X=x) -> (Out=x)
sum(X=[)",
                                                       many_d, "]) -> (Out=y)\n"));
  int stale = 0;
  for (const Finding& finding : Verify(program)) {
    stale += finding.code == FindingCode::kStaleQuantizedRead ? 1 : 0;
  }
  EXPECT_EQ(stale, 100);
}

}  // namespace
}  // namespace fixpoint
