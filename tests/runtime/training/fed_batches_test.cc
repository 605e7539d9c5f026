// Which variable a field of samples is fed to, and with which extents; what is measured on them.

#include "runtime/training/fed_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/data/array_samples.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/metric.h"
#include "runtime/training/network_variables.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

template <typename T>
NamedArray Array(const std::string& name, std::vector<int64_t> dims) {
  const std::vector<T> values(static_cast<size_t>(TensorSize(dims).value()), T{1});
  return {name, StoredArray(name, Tensor::FromValues<T>(std::move(dims), values))};
}

constexpr char kTwoInputs[] = R"(
  var a f32[-1,3]
  var ids i64[-1,1]
  var c f32[-1,3]
  lookup_table(W=table, Ids=ids) -> (Out=b)
  elementwise_add(X=a, Y=b) -> (Out=c)
)";

// "a [2,3], ids [2,1]; labels y [2]", or the error.
std::string Fed(const char* program_text, std::vector<NamedArray> arrays,
                const NetworkVariables& variables = {}) {
  const Program program = ParsedProgram(program_text);
  const ArraySamples samples = ArraySamples::Create("arrays", std::move(arrays)).value();
  BatchOptions options;
  options.batch_size = 2;
  absl::StatusOr<FedBatches> batches = FedBatches::Create(program, &samples, variables, options);
  if (!batches.ok()) return std::string(batches.status().message());
  const Batch batch = batches->batcher().Next().value();
  std::string text;
  for (const Feed& feed : batches->FeedsOf(batch)) {
    absl::StrAppend(&text, feed.name, " ", DimsText(feed.value->dims()), "; ");
  }
  const Tensor* const labels = batches->LabelsOf(batch);
  return absl::StrCat(text, "labels ", labels == nullptr ? "none" : DimsText(labels->dims()));
}

TEST(FedBatches, FieldsGoToTheVariablesOfTheirNames) {
  EXPECT_EQ(Fed(kTwoInputs, {Array<int64_t>("ids", {4, 1}), Array<float>("a", {4, 3})}),
            "ids [2, 1]; a [2, 3]; labels none");
}

TEST(FedBatches, ExtentsOfOneComeAndGoAsTheProgramDeclares) {
  EXPECT_EQ(Fed(kTwoInputs, {Array<float>("a", {4, 1, 3}), Array<int64_t>("ids", {4})}),
            "a [2, 3]; ids [2, 1]; labels none");
}

TEST(FedBatches, AnExampleMayHaveOtherExtents) {
  EXPECT_EQ(Fed("var x f32[1,3,8,8]\nrelu(X=x) -> (Out=y)\n", {Array<float>("x", {4, 3, 5, 6})}),
            "x [2, 3, 5, 6]; labels none");
  EXPECT_EQ(Fed("var x f32[1,3,8,8]\nrelu(X=x) -> (Out=y)\n", {Array<float>("x", {4, 3})}),
            "x: samples of \"x\" are fed as [-1, 3]; the program declares \"x\" as [1, 3, 8, 8], "
            "where -1 is any extent");
}

TEST(FedBatches, OtherExtentsThanDeclaredAreTold) {
  const auto fed = [](const std::string& declared, std::vector<int64_t> dims) {
    return Fed(absl::StrCat("var x f32", declared, "\nrelu(X=x) -> (Out=y)\n").c_str(),
               {Array<float>("x", std::move(dims))});
  };
  EXPECT_EQ(fed("[-1,3,8,8]", {4, 3, 8, 7}),
            "x: samples of \"x\" are fed as [-1, 3, 8, 7]; the program declares \"x\" as "
            "[-1, 3, 8, 8], where -1 is any extent");
  EXPECT_EQ(fed("[1,3,8,8] need_check_feed", {4, 3, 8, 7}),
            "x: samples of \"x\" are fed as [-1, 3, 8, 7]; the program declares \"x\" as "
            "[1, 3, 8, 8], where -1 is any extent");
  EXPECT_EQ(fed("[-1,3,-1,-1]", {4, 3, 8, 7}), "x [2, 3, 8, 7]; labels none");
  EXPECT_EQ(fed("[-1,3,-1,-1]", {4, 1, 8, 7}),
            "x: samples of \"x\" are fed as [-1, 1, 8, 7]; the program declares \"x\" as "
            "[-1, 3, -1, -1], where -1 is any extent");
  EXPECT_EQ(fed("[-1,3,-1,-1]", {4, 3, 8}),
            "x: samples of \"x\" are fed as [-1, 3, 8]; the program declares \"x\" as "
            "[-1, 3, -1, -1], where -1 is any extent");
}

TEST(FedBatches, NarrowIntegersAreWidened) {
  const Program program = ParsedProgram(kTwoInputs);
  const ArraySamples samples =
      ArraySamples::Create("arrays", {Array<float>("a", {4, 3}), Array<int32_t>("ids", {4}),
                                      Array<uint8_t>("labels", {4})})
          .value();
  auto batches = FedBatches::Create(program, &samples, {}, BatchOptions());
  ASSERT_TRUE(batches.ok()) << batches.status();
  const Batch batch = batches->batcher().Next().value();
  const Tensor& ids = *batches->FeedsOf(batch)[1].value;
  EXPECT_EQ(ids.dtype(), VarType::INT64);
  EXPECT_EQ(ids.data<int64_t>()[0], 1);
  EXPECT_EQ(batches->LabelsOf(batch)->data<int64_t>()[0], 1);
}

TEST(FedBatches, LabelsAreWideWhateverTheProgramDeclares) {
  const Program program = ParsedProgram(
      "var x f32[-1,3]\nvar labels i32[-1,1]\nrelu(X=x) -> (Out=y)\n"
      "cast(X=labels) -> (Out=z) {in_dtype=2, out_dtype=5}\n");
  const ArraySamples samples =
      ArraySamples::Create("arrays", {Array<float>("x", {4, 3}), Array<int32_t>("labels", {4})})
          .value();
  auto batches = FedBatches::Create(program, &samples, {}, BatchOptions());
  ASSERT_TRUE(batches.ok()) << batches.status();
  const Batch batch = batches->batcher().Next().value();
  ASSERT_EQ(batches->FeedsOf(batch).size(), 2u);
  EXPECT_EQ(batches->FeedsOf(batch)[1].value->dtype(), VarType::INT32);
  EXPECT_EQ(batches->LabelsOf(batch)->dtype(), VarType::INT64);
  EXPECT_EQ(batches->LabelsOf(batch)->dims(), std::vector<int64_t>({1, 1}));
}

TEST(FedBatches, AnAccuracyIsOfTheArrayThatIsFedAsLabelsToo) {
  const Program program = ParsedProgram(kTwoInputs);
  const ArraySamples samples =
      ArraySamples::Create("arrays", {Array<float>("a", {4, 3}), Array<int64_t>("ids", {4})})
          .value();
  const Metric accuracy = Metric::OfName("accuracy");
  NetworkVariables variables;
  variables.scores = "c";
  EXPECT_EQ(accuracy.CheckIsThere(program, variables, samples).message(),
            "the metric accuracy: the samples have no labels; want them in an array of integers, "
            "\"labels\"");
  variables.labels = "ids";
  EXPECT_TRUE(accuracy.CheckIsThere(program, variables, samples).ok());
}

TEST(FedBatches, LabelsAreReadThoughNoVariableTakesThem) {
  EXPECT_EQ(Fed("var x f32[-1,3]\nrelu(X=x) -> (Out=y)\n",
                {Array<float>("x", {4, 3}), Array<int64_t>("labels", {4})}),
            "x [2, 3]; labels [2]");
  EXPECT_EQ(Fed("var x f32[-1,3]\nrelu(X=x) -> (Out=y)\n",
                {Array<float>("x", {4, 3}), Array<float>("labels", {4})}),
            "x [2, 3]; labels none");
  EXPECT_EQ(
      Fed(kTwoInputs, {Array<float>("a", {4, 3}), Array<int64_t>("ids", {4})}, {"", "ids", "", ""}),
      "a [2, 3]; ids [2, 1]; labels [2, 1]");
}

TEST(FedBatches, AFieldThatNothingTakesIsNotRead) {
  EXPECT_EQ(Fed(kTwoInputs, {Array<float>("a", {4, 3}), Array<int64_t>("ids", {4}),
                             Array<float>("weights", {4})}),
            "a [2, 3]; ids [2, 1]; labels none");
}

TEST(FedBatches, AWrongNameAndAWrongTypeAreTold) {
  EXPECT_EQ(Fed(kTwoInputs, {Array<float>("A", {4, 3}), Array<int64_t>("ids", {4})}),
            "the program is fed \"a\", and no field of the samples has that name; not fed are "
            "\"A\"");
  EXPECT_EQ(Fed(kTwoInputs, {Array<double>("a", {4, 3}), Array<int64_t>("ids", {4})}),
            "a: a sample of \"a\" is FP64; want what the program declares of \"a\", FP32");
}

class SequenceRuns : public testing::TestWithParam<BackendKind> {};

INSTANTIATE_TEST_SUITE_P(Backends, SequenceRuns,
                         testing::Values(BackendKind::kOneDnn, BackendKind::kReference),
                         [](const auto& info) { return std::string(BackendName(info.param)); });

// Each row has a label: right are the rows whose larger value is at it.
TEST_P(SequenceRuns, AccuracyIsThatOfRows) {
  const Program program = ParsedProgram(R"(
    var x f32[-1,2] lod=1
    var y f32[-1,2] lod=1
    var labels i64[-1,1] lod=1
    scale(X=x) -> (Out=y) {scale=2.0}
  )");
  const auto sequences = [](const std::string& name, Tensor tensor) {
    return NamedArray{name, StoredArray(name, std::move(tensor))};
  };
  const ArraySamples samples =
      ArraySamples::Create(
          "arrays",
          {sequences("x", Tensor::FromValues<float>({5, 2}, {0, 1, 1, 0, 0, 1, 1, 0, 1, 0})),
           sequences("x.lengths", Tensor::FromValues<int64_t>({3}, {1, 2, 2})),
           sequences("labels", Tensor::FromValues<int64_t>({5, 1}, {1, 0, 0, 0, 1})),
           sequences("labels.lengths", Tensor::FromValues<int64_t>({3}, {1, 2, 2}))})
          .value();
  BatchRunOptions options;
  options.backend = GetParam();
  options.variables.scores = "y";
  options.batches.batch_size = 2;
  Scope scope;
  absl::StatusOr<Evaluator> evaluator = Evaluator::Create(program, &scope, &samples, options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.status();
  const absl::StatusOr<Evaluation> evaluation = evaluator->Run();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->samples, 3);
  EXPECT_DOUBLE_EQ(*evaluation->accuracy, 3.0 / 5);
}

}  // namespace
}  // namespace fixpoint
