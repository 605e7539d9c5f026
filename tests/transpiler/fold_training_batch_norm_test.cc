// A batch norm that is folded into the weight before it while it trains: what the program computes
// and what is left alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

// A product of `type` with batch norm and gradients, from `dz`.
std::string Trained(const std::string& product, const std::string& gradient,
                    const std::string& weight, const std::string& image,
                    const std::string& result) {
  return absl::StrReplaceAll(R"(program
block 0 {
  var x f32[IMAGE]
  var w f32[WEIGHT] persistable is_parameter
  var y f32[RESULT]
  var z f32[RESULT]
  var g f32[4] persistable is_parameter
  var b f32[4] persistable is_parameter
  var mean f32[4] persistable
  var variance f32[4] persistable
  var saved_mean f32[4]
  var saved_variance f32[4]
  var x@GRAD f32[IMAGE]
  var y@GRAD f32[RESULT]
  var z@GRAD f32[RESULT]
  var dz f32[RESULT]
  var w@GRAD f32[WEIGHT]
  var g@GRAD f32[4]
  var b@GRAD f32[4]
  PRODUCT
  batch_norm(X=y, Scale=g, Bias=b, Mean=mean, Variance=variance) -> (Y=z, MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean, SavedVariance=saved_variance)
  scale(X=dz) -> (Out=z@GRAD) {op_role=257}
  batch_norm_grad(X=y, Scale=g, Bias=b, SavedMean=saved_mean, SavedVariance=saved_variance, Y@GRAD=z@GRAD) -> (X@GRAD=y@GRAD, Scale@GRAD=g@GRAD, Bias@GRAD=b@GRAD) {op_role=1}
  GRADIENT
}
)",
                             {{"PRODUCT", product},
                              {"GRADIENT", gradient},
                              {"WEIGHT", weight},
                              {"IMAGE", image},
                              {"RESULT", result}});
}

std::string Convolution() {
  return Trained("conv2d(Input=x, Filter=w) -> (Output=y)",
                 "conv2d_grad(Input=x, Filter=w, Output@GRAD=y@GRAD) -> (Input@GRAD=x@GRAD, "
                 "Filter@GRAD=w@GRAD) {op_role=1}",
                 "4,3,3,3", "2,3,5,5", "2,4,3,3");
}

std::string Depthwise() {
  return Trained("depthwise_conv2d(Input=x, Filter=w) -> (Output=y) {groups=4}",
                 "depthwise_conv2d_grad(Input=x, Filter=w, Output@GRAD=y@GRAD) -> "
                 "(Input@GRAD=x@GRAD, Filter@GRAD=w@GRAD) {groups=4, op_role=1}",
                 "4,1,3,3", "2,4,5,5", "2,4,3,3");
}

std::string Product() {
  return Trained("mul(X=x, Y=w) -> (Out=y)",
                 "mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD, Y@GRAD=w@GRAD) "
                 "{op_role=1}",
                 "5,4", "6,5", "6,4");
}

// The same with a bias that is added before the batch norm, at `axis`.
std::string Biased(const std::string& text, int axis) {
  const std::string result =
      text.substr(text.find("var y ") + 6, text.find("\n  var z ") - text.find("var y ") - 6);
  return absl::StrReplaceAll(
      text,
      {{"  var x f32",
        absl::StrCat("  var c f32[4] persistable is_parameter\n  var a ", result,
                     "\n  var c@GRAD f32[4]\n  var a@GRAD ", result, "\n  var x f32")},
       {"  batch_norm(X=y",
        absl::StrCat("  elementwise_add(X=y, Y=c) -> (Out=a) {axis=", axis, "}\n  batch_norm(X=a")},
       {"batch_norm_grad(X=y", "batch_norm_grad(X=a"},
       {"-> (X@GRAD=y@GRAD, Scale@GRAD=g@GRAD, Bias@GRAD=b@GRAD) {op_role=1}\n",
        absl::StrCat("-> (X@GRAD=a@GRAD, Scale@GRAD=g@GRAD, Bias@GRAD=b@GRAD) {op_role=1}\n"
                     "  elementwise_add_grad(X=y, Y=c, Out@GRAD=a@GRAD) -> "
                     "(X@GRAD=y@GRAD, Y@GRAD=c@GRAD) {axis=",
                     axis, ", op_role=1}\n")}});
}

TranspileOptions Folding() {
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.set_fold_batch_norm(true);
  return options;
}

Program Folded(const std::string& text, const TranspileOptions& options) {
  Program program = ParsedProgram(text);
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(program.Proto()), HasSubstr("folded_batch_norm_grad"));
  for (const Finding& finding : Verify(program)) ADD_FAILURE() << finding.message;
  return program;
}

Tensor Drawn(const Program& program, const std::string& name, uint32_t seed) {
  const auto& dims = program.Find(program.block(0), name)->tensor()->dims();
  const RandomStream random(1, seed, 0);
  Tensor tensor = *Tensor::Allocate(VarType::FP64, {dims.begin(), dims.end()});
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<double>()[i] =
        name == "variance" ? 0.5 + random.Uniform(i) : 2 * random.Uniform(i) - 1;
  }
  return tensor;
}

class FoldedProducts : public testing::TestWithParam<std::string> {};

std::string NameOf(const testing::TestParamInfo<std::string>& info) {
  const char* const names[] = {"Convolution", "Depthwise", "Product", "BiasedConvolution",
                               "BiasedProduct"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Products, FoldedProducts,
                         testing::Values(Convolution(), Depthwise(), Product(),
                                         Biased(Convolution(), 1), Biased(Product(), -1)),
                         NameOf);

// Without quantizers, folding is an identity: of the result, of all gradients, and of the averages
// that the step leaves. Everything is computed in double.
TEST_P(FoldedProducts, ComputesTheSameWhereNothingIsRounded) {
  TranspileOptions options = Folding();
  options.pipeline = "fold_training_batch_norm";
  const Program original = ParsedProgram(GetParam());
  const Program folded = Folded(GetParam(), options);
  std::vector<std::string> fetches = {"z",      "x@GRAD", "w@GRAD",  "g@GRAD",
                                      "b@GRAD", "mean",   "variance"};
  std::vector<std::string> given = {"x", "w", "g", "b", "mean", "variance", "dz"};
  if (original.Find(original.block(0), "c") != nullptr) {
    fetches.push_back("c@GRAD");
    given.push_back("c");
  }
  std::vector<std::vector<Tensor>> results;
  for (const Program* program : {&original, &folded}) {
    Scope scope;
    uint32_t seed = 0;
    for (const std::string& name : given) {
      scope.Set(name, Drawn(original, name, ++seed));
    }
    absl::StatusOr<reference::Interpreter> interpreter = reference::Interpreter::Create(
        *program, &scope, {reference::Precision::kDouble, /*seed=*/0});
    ASSERT_TRUE(interpreter.ok()) << interpreter.status();
    absl::StatusOr<std::vector<Tensor>> fetched = interpreter->Run({}, fetches, 0);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    results.push_back(*std::move(fetched));
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    ASSERT_EQ(results[0][i].size(), results[1][i].size()) << fetches[i];
    for (int64_t at = 0; at < results[0][i].size(); ++at) {
      EXPECT_NEAR(results[1][i].data<double>()[at], results[0][i].data<double>()[at], 1e-9)
          << fetches[i] << " " << at;
    }
  }
}

TEST_P(FoldedProducts, IsUndone) {
  Program program = Folded(GetParam(), Folding());
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), GetParam());
}

TEST_P(FoldedProducts, IsUndoneByMarks) {
  Program program = Folded(GetParam(), Folding());
  program.ClearEditLog();
  const absl::Status undone = Untranspile(&program);
  ASSERT_TRUE(undone.ok()) << undone;
  EXPECT_EQ(PrintProgram(program.Proto()), GetParam());
}

// Breaks a program in one place.
void ExpectNotFolded(std::string text, const std::string& from, const std::string& to,
                     const std::string& why) {
  ASSERT_NE(text.find(from), std::string::npos) << from;
  text.replace(text.find(from), from.size(), to);
  Program program = ParsedProgram(text);
  TranspileOptions options = Folding();
  options.pipeline = "fold_training_batch_norm";
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, testing::Contains(HasSubstr(why))) << to;
  EXPECT_FALSE(program.edited()) << to;
}

// What a training program has to have before it is folded.
TEST(FoldTrainingBatchNorm, SaysWhyABatchNormIsNotFolded) {
  struct Case {
    std::string from;
    std::string to;
    std::string why;
  };
  const Case kCases[] = {
      {"mul(X=x, Y=w) -> (Out=y)", "relu(X=x) -> (Out=y)",
       "it reads \"y\", which is not the result of a product"},
      {"\n  batch_norm(", "\n  relu(X=y) -> (Out=t)\n  batch_norm(",
       "it is not alone in reading \"y\", which block 0, op 1 (relu) reads too"},
      {"MeanOut=mean", "MeanOut=saved_mean",
       "it does not keep its statistics in the variables that it reads"},
      {"var w f32[5,4] persistable", "var w f32[5,4]",
       "it follows a product with \"w\", which is no parameter"},
      {"var g f32[4]", "var g f32[2]", "it normalizes other channels than \"w\" has"},
      {", Scale@GRAD=g@GRAD", "",
       "it is not trained: block 0, op 3 (batch_norm_grad) gives Scale no"},
      {", Y@GRAD=w@GRAD", "", "it follows a weight that is not trained"},
      {"SavedVariance=saved_variance)\n", "SavedVariance=saved_variance) {fuse_with_relu=true}\n",
       "it has attributes that cannot be read, a relu of its own or a momentum that is computed"},
  };
  for (const auto& [from, to, why] : kCases) ExpectNotFolded(Product(), from, to, why);
  const Case kOfBiases[] = {
      {"var c f32[4] persistable", "var c f32[4]",
       "it reads \"a\", which block 0, op 1 (elementwise_add) adds up from more than a bias"},
      {"var c f32[4]", "var c f32[1]", "it follows \"c\", which is not a bias for each channel"},
      {"Out=a) {axis=-1}", "Out=a) {axis=0}",
       "it follows \"c\", which is not a bias for each channel"},
      {"\n  batch_norm(", "\n  relu(X=a) -> (Out=t)\n  batch_norm(",
       "it is not alone in reading \"a\", which block 0, op 2 (relu) reads too"},
      {"\n  batch_norm(", "\n  relu(X=y) -> (Out=t)\n  batch_norm(",
       "it is not alone in reading \"y\", which block 0, op 2 (relu) reads too"},
      {", Y@GRAD=c@GRAD", "", "it follows a bias that is not trained"},
      {"\n  mul_grad(", "\n  scale(X=c@GRAD) -> (Out=t) {op_role=1}\n  mul_grad(",
       "it has a gradient \"c@GRAD\" that block 0, op 6 (scale) reads before that of the weight is "
       "there"},
  };
  for (const auto& [from, to, why] : kOfBiases) {
    ExpectNotFolded(Biased(Product(), -1), from, to, why);
  }
}

TEST(FoldTrainingBatchNorm, IsWantedOfEveryPipeline) {
  TranspileOptions options = Folding();
  options.pipeline = "plan_quantizers,insert_quantizers,train_scales,initialize_state";
  Program program = ParsedProgram(Product());
  EXPECT_THAT(Transpile(&program, options).status().message(),
              HasSubstr("add fold_training_batch_norm before plan_quantizers"));
  EXPECT_FALSE(program.edited());
}

}  // namespace
}  // namespace fixpoint
