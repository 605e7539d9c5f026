// Preparation: what it computes, how it is undone, and what it refuses.

#include "transpiler/prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/inference_model.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/reference_data.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A bias of images, an activation in place, scalars, a dropout that scales, and a batch norm.
constexpr char kNet[] = R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,2,3,3]
var w f32[2,2,3,3] persistable
var b f32[2] persistable
var b4 f32[1,2,1,1]
var b4.shape f32[0,2]
var y f32[-1,2,3,3]
var s f32[1] persistable
var t f32[1] persistable
var y2 f32[-1,2,3,3]
var y3 f32[-1,2,3,3]
var v f32[2,2,1,1] persistable
var c f32[-1,2,3,3]
var d f32[2] persistable
var e f32[-1,2,3,3]
var gamma f32[2] persistable
var beta f32[2] persistable
var mean f32[2] persistable
var variance f32[2] persistable
var sm f32[2]
var sv f32[2]
var n f32[-1,2,3,3]
var o f32[-1,2,3,3]
var p f32[-1,2,3,3]
feed(X=feed) -> (Out=x) {col=0}
conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
reshape2(X=b) -> (Out=b4, XShape=b4.shape) {shape=[1, 2, 1, 1]}
elementwise_add(X=y, Y=b4) -> (Out=y) {axis=-1}
relu(X=y) -> (Out=y)
elementwise_mul(X=s, Y=y) -> (Out=y2)
elementwise_add(X=y2, Y=t) -> (Out=y3)
conv2d(Input=y3, Filter=v) -> (Output=c)
elementwise_add(X=c, Y=d) -> (Out=e) {axis=1}
batch_norm(X=e, Scale=gamma, Bias=beta, Mean=mean, Variance=variance) -> (Y=n, MeanOut=mean, VarianceOut=variance, SavedMean=sm, SavedVariance=sv) {is_test=true}
dropout(X=n) -> (Out=o) {dropout_implementation="downgrade_in_infer", dropout_prob=0.25, is_test=true}
assign(X=o) -> (Out=p)
fetch(X=p) -> (Out=fetch) {col=0}
)";

// A batch norm after maxima, and a function of what was reordered.
constexpr char kMoved[] = R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,2,6,6]
var w f32[2,2,3,3] persistable
var gamma f32[2] persistable
var beta f32[2] persistable
var mean f32[2] persistable
var variance f32[2] persistable
var sm f32[2]
var sv f32[2]
var c f32[-1,2,4,4]
var r f32[-1,2,4,4]
var m f32[-1,2,2,2]
var n f32[-1,2,2,2]
var v f32[2,2,1,1] persistable
var o f32[-1,2,2,2]
var t f32[-1,2,2,2]
var s f32[-1,2,2,2]
feed(X=feed) -> (Out=x) {col=0}
conv2d(Input=x, Filter=w) -> (Output=c)
relu(X=c) -> (Out=r)
pool2d(X=r) -> (Out=m) {pooling_type="max", ksize=[2, 2], strides=[2, 2]}
batch_norm(X=m, Scale=gamma, Bias=beta, Mean=mean, Variance=variance) -> (Y=n, MeanOut=mean, VarianceOut=variance, SavedMean=sm, SavedVariance=sv) {is_test=true}
conv2d(Input=n, Filter=v) -> (Output=o)
transpose(X=o) -> (Out=t) {axis=[0, 2, 3, 1]}
scale(X=t) -> (Out=s) {scale=-0.3}
fetch(X=s) -> (Out=fetch) {col=0}
)";

constexpr char kNormOfMaxima[] = R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,1,2,4]
var w f32[1,1,1,1] persistable
var gamma f32[1] persistable
var beta f32[1] persistable
var mean f32[1] persistable
var variance f32[1] persistable
var sm f32[1]
var sv f32[1]
var c f32[-1,1,2,4]
var m f32[-1,1,1,2]
var n f32[-1,1,1,2]
feed(X=feed) -> (Out=x) {col=0}
conv2d(Input=x, Filter=w) -> (Output=c)
pool2d(X=c) -> (Out=m) {pooling_type="max", ksize=[2, 2], strides=[2, 2]}
batch_norm(X=m, Scale=gamma, Bias=beta, Mean=mean, Variance=variance) -> (Y=n, MeanOut=mean, VarianceOut=variance, SavedMean=sm, SavedVariance=sv) {is_test=true}
fetch(X=n) -> (Out=fetch) {col=0}
)";

// Numbers that no rounding leaves as they are.
Tensor Numbers(std::vector<int64_t> dims, uint32_t seed) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::FP32, std::move(dims));
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  for (float& number : tensor->mutable_data<float>()) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) * 0x1p-23f - 0.9f;
  }
  return *std::move(tensor);
}

Scope ParametersOfNet(const Program& program) {
  Scope scope;
  uint32_t seed = 7;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    if (!variable->is_dense_tensor()) continue;
    const auto& dims = variable->tensor()->dims();
    Tensor tensor = Numbers({dims.begin(), dims.end()}, ++seed);
    if (variable->name() == "variance" || variable->name() == "gamma") {
      for (float& number : tensor.mutable_data<float>()) number = std::abs(number);
    }
    scope.Set(variable->name(), std::move(tensor));
  }
  return scope;
}

std::vector<Tensor> ResultsOf(const Program& program, const Scope& parameters, const Tensor& x) {
  Scope scope;
  for (const auto& [name, value] : parameters) scope.Set(name, *Scope::CloneOf(value));
  auto interpreter = reference::Interpreter::Create(program, &scope);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  const std::string fed = FedVariables(program).front()->name();
  const std::vector<std::string> fetched = NamesOf(FetchedVariables(program));
  absl::StatusOr<std::vector<Tensor>> results = interpreter->Run({{fed, &x}}, fetched, 0);
  EXPECT_TRUE(results.ok()) << results.status();
  return *std::move(results);
}

PreparedModel PreparedNet(const PrepareOptions& options, const char* net = kNet) {
  const Program program = ParsedProgram(net);
  absl::StatusOr<PreparedModel> model = Prepare(program, ParametersOfNet(program), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// By at most so many units in the last place of the largest number.
void ExpectNear(const Tensor& made, const Tensor& wanted, float units) {
  ASSERT_EQ(made.dims(), wanted.dims());
  float largest = 0;
  for (const float number : wanted.data<float>()) largest = std::max(largest, std::abs(number));
  for (int64_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(made.data<float>()[i], wanted.data<float>()[i], units * 0x1p-23f * largest);
  }
}

TEST(Prepare, ComputesTheSameToTheBit) {
  const Program program = ParsedProgram(kNet);
  const Tensor x = Numbers({2, 2, 3, 3}, 1);
  PrepareOptions options;
  options.pipeline =
      "separate_writes,fold_constants,inline_shapes,remove_identities,flatten_biases,"
      "remove_dead_variables";
  const PreparedModel model = PreparedNet(options);
  EXPECT_LT(model.program.block(0).op_count(), program.block(0).op_count());
  const std::vector<Tensor> wanted = ResultsOf(program, ParametersOfNet(program), x);
  const std::vector<Tensor> made = ResultsOf(model.program, model.scope, x);
  EXPECT_EQ(made[0].bytes(), wanted[0].bytes());
}

TEST(Prepare, ComputesTheSameToTheBitBeforeMoves) {
  const Program program = ParsedProgram(kMoved);
  const Tensor x = Numbers({2, 2, 6, 6}, 1);
  const PreparedModel model = PreparedNet({}, kMoved);
  std::vector<std::string> types;
  for (const Op& op : model.program.block(0).ops()) types.push_back(op.type());
  EXPECT_THAT(types, ElementsAre("feed", "conv2d", "relu", "batch_norm", "pool2d", "conv2d",
                                 "scale", "transpose", "fetch"));
  const std::vector<Tensor> wanted = ResultsOf(program, ParametersOfNet(program), x);
  const std::vector<Tensor> made = ResultsOf(model.program, model.scope, x);
  EXPECT_EQ(made[0].bytes(), wanted[0].bytes());
}

// A maximum skips NaN, before a norm and after it; over nothing else it is the lowest number.
TEST(Prepare, NormBeforeMaximaDiffersWhereAWindowHasNoNumber) {
  const Program program = ParsedProgram(kNormOfMaxima);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  Tensor x = Numbers({1, 1, 2, 4}, 1);
  for (const int i : {0, 2, 3, 6, 7}) x.mutable_data<float>()[i] = kNan;
  const PreparedModel model = PreparedNet({}, kNormOfMaxima);
  const std::vector<Tensor> wanted = ResultsOf(program, ParametersOfNet(program), x);
  const std::vector<Tensor> made = ResultsOf(model.program, model.scope, x);
  EXPECT_EQ(made[0].data<float>()[0], wanted[0].data<float>()[0]);
  EXPECT_NE(wanted[0].data<float>()[1], kLowest);
  EXPECT_EQ(made[0].data<float>()[1], kLowest);
}

TEST(Prepare, ComputesTheSameButForRounding) {
  const Program program = ParsedProgram(kNet);
  const Tensor x = Numbers({2, 2, 3, 3}, 1);
  const std::vector<Tensor> wanted = ResultsOf(program, ParametersOfNet(program), x);
  for (const bool folds : {false, true}) {
    PrepareOptions options;
    options.fold_batch_norm = folds;
    const PreparedModel model = PreparedNet(options);
    for (const Op& op : model.program.ops()) {
      EXPECT_FALSE(folds && op.type() == "batch_norm") << Describe(op);
      EXPECT_NE(op.type(), "dropout");
      EXPECT_NE(op.type(), "elementwise_mul");
    }
    ExpectNear(ResultsOf(model.program, model.scope, x)[0], wanted[0], folds ? 64 : 2);
  }
}

TEST(Prepare, SaysWhatBecameOfTheOpsThatWereGiven) {
  const PreparedModel model = PreparedNet({});
  ASSERT_FALSE(model.ops.empty());
  bool found = false;
  for (const PreparedOp& op : model.ops) {
    if (op.type != "reshape2") continue;
    found = true;
    EXPECT_EQ(op.pass, "fold_constants");
    EXPECT_EQ(op.op, 2);
    EXPECT_EQ(op.output, "b4");
    EXPECT_TRUE(op.removed);
  }
  EXPECT_TRUE(found);
}

TEST(Prepare, IsUndoneAfterTheTranspileThatFollowedIt) {
  const std::string given = ParsedProgram(kNet).Proto().SerializeAsString();
  PreparedModel model = PreparedNet({});
  const std::string prepared = model.program.Proto().SerializeAsString();
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  const absl::StatusOr<TranspileResult> result = Transpile(&model.program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->left_alone, "");
  EXPECT_FALSE(result->plan.sites().empty());

  absl::StatusOr<Program> saved = Program::Create(model.program.Proto());
  ASSERT_TRUE(saved.ok()) << saved.status();
  ASSERT_TRUE(Untranspile(&*saved).ok());
  EXPECT_TRUE(saved->Proto().SerializeAsString() == prepared);
  saved = Program::Create(saved->Proto());
  ASSERT_TRUE(saved.ok()) << saved.status();
  ASSERT_TRUE(Untranspile(&*saved).ok());
  EXPECT_TRUE(saved->Proto().SerializeAsString() == given);
}

TEST(Prepare, LeavesNothingToPrepare) {
  const PreparedModel once = PreparedNet({});
  const absl::StatusOr<PreparedModel> twice = Prepare(once.program, once.scope);
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_TRUE(twice->ops.empty());
  EXPECT_TRUE(twice->program.Proto().SerializeAsString() ==
              once.program.Proto().SerializeAsString());
}

std::string ErrorOf(const std::string& program) {
  const absl::StatusOr<PreparedModel> model = Prepare(ParsedProgram(program), Scope());
  return model.ok() ? "" : model.status().ToString();
}

TEST(Prepare, RefusesWhatIsNoFloatProgramForInference) {
  EXPECT_THAT(ErrorOf("var x f32[-1,2]\nvar y f32[-1,2]\nrelu(X=x) -> (Out=y) {op_role=1}\n"),
              HasSubstr("FAILED_PRECONDITION: program.txt: block 0, op 0 (relu) belongs to "
                        "training; want a program for inference"));
  EXPECT_THAT(ErrorOf("var x f32[-1,2]\nvar y f32[-1,2]\nvar s f32[1]\n"
                      "fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)\n"),
              HasSubstr("quantizes or dequantizes; want a float program"));
  EXPECT_THAT(ErrorOf("var x f32[-1,2]\nvar y f32[-1,2]\n"
                      "relu(X=x) -> (Out=y) {fixpoint.inserted_by=\"insert_quantizers\"}\n"),
              HasSubstr("was transpiled already"));
}

TEST(Prepare, NamesAParameterThatIsNotThere) {
  EXPECT_THAT(ErrorOf("var x f32[-1,2]\nvar w f32[2,2] persistable\nvar y f32[-1,2]\n"
                      "mul(X=x, Y=w) -> (Out=y)\n"),
              HasSubstr("NOT_FOUND: program.txt: the parameters have no variable \"w\""));
}

// Real networks with their parameters: to the bit, where nothing is rounded in another way.
TEST(PrepareReference, RealNetworksComputeTheSame) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int edited = 0;
  for (const char* folder : {"edl_mnist_conv_fluid1_7", "mtcnn_RNet", "uci_housing_fluid1_7"}) {
    SCOPED_TRACE(folder);
    const absl::StatusOr<InferenceModel> model =
        LoadInferenceModel(absl::StrCat(ReferencePath("models"), "/with_params/", folder));
    ASSERT_TRUE(model.ok()) << model.status();
    const Variable* const fed = FedVariables(model->program).front();
    std::vector<int64_t> dims(fed->tensor()->dims().begin(), fed->tensor()->dims().end());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) dims[i] = i == 0 ? 2 : 24;
    }
    const Tensor x = Numbers(dims, 3);
    const absl::StatusOr<PreparedModel> prepared = Prepare(model->program, model->parameters);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    edited += static_cast<int>(!prepared->ops.empty());
    const std::vector<Tensor> wanted = ResultsOf(model->program, model->parameters, x);
    const std::vector<Tensor> made = ResultsOf(prepared->program, prepared->scope, x);
    ASSERT_EQ(made.size(), wanted.size());
    for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i].bytes(), wanted[i].bytes());
  }
  EXPECT_GT(edited, 0);
}

}  // namespace
}  // namespace fixpoint
