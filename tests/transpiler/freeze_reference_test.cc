// Freezing what the reference quantized and trained: every such program among the reference data
// freezes, and its codes are those of the reference's own frozen programs where those are right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/quantizer.h"
#include "ops/verifier.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "tests/testing/reference_data.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

struct Model {
  Program program;
  Scope scope;
};

Model LoadModel(const std::string& program_path, const std::string& parameters_path) {
  auto loaded = LoadProgram(program_path);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  auto program = Program::Create(std::move(loaded->program), program_path);
  EXPECT_TRUE(program.ok()) << program.status();
  auto scope = LoadParameters(program->Proto(), parameters_path);
  EXPECT_TRUE(scope.ok()) << scope.status();
  return {*std::move(program), *std::move(scope)};
}

// A model of one of the *_frozen folders: "qat_inference" or "int8_inference".
Model LoadFrom(const std::string& folder, const std::string& kind) {
  const std::string base = absl::StrCat(folder, "/", kind, "/");
  return std::filesystem::exists(absl::StrCat(base, "__model__"))
             ? LoadModel(absl::StrCat(base, "__model__"), absl::StrCat(base, "__params__"))
             : LoadModel(absl::StrCat(base, "inference.pdmodel"),
                         absl::StrCat(base, "inference.pdiparams"));
}

std::string Generated(const std::string& name) {
  return ReferencePath(absl::StrCat("models/generated/", name));
}

FrozenModel FreezeOrDie(const Model& model, FrozenForm form) {
  FreezeOptions options;
  options.form = form;
  options.allow_dynamic = true;
  auto frozen = Freeze(model.program, model.scope, options);
  EXPECT_TRUE(frozen.ok()) << frozen.status();
  return *std::move(frozen);
}

std::string ErrorsOf(const Program& program) {
  std::string errors;
  for (const Finding& finding : Verify(program)) {
    if (finding.severity == Severity::kError) absl::StrAppend(&errors, finding.message, "\n");
  }
  return errors;
}

int CountOps(const Program& program, const std::string& type) {
  int count = 0;
  for (const Op& op : program.ops()) count += op.type() == type;
  return count;
}

// How many codes of a weight differ from the reference's, by one; -1 if any differs by more.
int DifferingCodes(const Scope& ours, const Scope& reference, const std::string& name) {
  const auto a = (*ours.Find(name))->data<int8_t>();
  const auto b = (*reference.Find(name))->data<int8_t>();
  EXPECT_EQ(a.size(), b.size());
  int count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > 1) return -1;
    count += a[i] != b[i];
  }
  return count;
}

const char* const kAbsMaxModels[] = {"fluid185_frozen/digits_conv-abs_max",
                                     "fluid185_frozen/digits_conv-range_abs_max",
                                     "paddle262_frozen/lenet-moving_average_abs_max-abs_max"};

TEST(FreezeReference, CodesPerTensorAreTheReferences) {
  SKIP_WITHOUT_REFERENCE_DATA();
  for (const char* const name : kAbsMaxModels) {
    SCOPED_TRACE(name);
    const FrozenModel ours =
        FreezeOrDie(LoadFrom(Generated(name), "qat_inference"), FrozenForm::kPortable);
    const Model reference = LoadFrom(Generated(name), "int8_inference");
    int weights = 0;
    for (const auto& [parameter, value] : reference.scope) {
      if (!absl::EndsWith(parameter, ".int8")) continue;
      ++weights;
      EXPECT_EQ(DifferingCodes(ours.scope, reference.scope, parameter), 0) << parameter;
    }
    EXPECT_EQ(ours.weights.count, weights);
  }
}

// The reference quantized these with the ranges of the last training step, before the last update.
TEST(FreezeReference, CodesPerChannelAreThoseOfTheFinalWeights) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string folder =
      Generated("paddle262_frozen/lenet-moving_average_abs_max-channel_wise_abs_max");
  const Model trained = LoadFrom(folder, "qat_inference");
  const FrozenModel ours = FreezeOrDie(trained, FrozenForm::kPortable);
  const Model reference = LoadFrom(folder, "int8_inference");
  const std::vector<std::pair<std::string, int>> differing = {
      {"conv2d_0.w_0", 4}, {"conv2d_1.w_0", 587}, {"fc_0.w_0", 5530}, {"fc_1.w_0", 32}};
  for (const auto& [weight, count] : differing) {
    EXPECT_EQ(DifferingCodes(ours.scope, reference.scope, weight + ".int8"), count) << weight;
    const auto stored = (*trained.scope.Find(weight + "@scale"))->data<float>();
    const auto scales = (*ours.scope.Find(weight + ".int8.scale"))->data<float>();
    EXPECT_NE(stored, scales) << weight;
  }
  EXPECT_THAT(ours.notes, testing::ElementsAre("weights whose stored scale is not that of their "
                                               "values, from which it is now computed: 4"));
}

TEST(FreezeReference, ProgramsTrainedByOthersFreezeInEveryForm) {
  SKIP_WITHOUT_REFERENCE_DATA();
  std::vector<Model> models;
  for (const char* const name : kAbsMaxModels) {
    models.push_back(LoadFrom(Generated(name), "qat_inference"));
  }
  models.push_back(
      LoadFrom(Generated("paddle262_frozen/lenet-moving_average_abs_max-channel_wise_abs_max"),
               "qat_inference"));
  const std::string slim = ReferencePath("models/with_params/ch_ppocr_mobile_v2.0_cls_slim");
  models.push_back(LoadModel(slim + "/inference.pdmodel.gz", slim + "/inference.pdiparams"));
  const int weights[] = {3, 3, 4, 4, 54};
  for (size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i].program.name());
    for (const FrozenForm form :
         {FrozenForm::kPortable, FrozenForm::kLegacy, FrozenForm::kLegacyInt8}) {
      const FrozenModel frozen = FreezeOrDie(models[i], form);
      EXPECT_EQ(frozen.weights.count, weights[i]);
      EXPECT_EQ(frozen.weights.float_bytes,
                frozen.weights.code_bytes * (form == FrozenForm::kLegacy ? 1 : 4));
      for (const char* const type : {"fake_channel_wise_quantize_abs_max",
                                     "fake_channel_wise_quantize_dequantize_abs_max"}) {
        EXPECT_EQ(CountOps(frozen.program, type), 0);
      }
      EXPECT_EQ(ErrorsOf(frozen.program), "");
      EXPECT_EQ(Freeze(frozen.program, frozen.scope).status().code(),
                absl::StatusCode::kFailedPrecondition);
    }
  }
}

TEST(FreezeReference, WholeTestProgramFreezesToWhatIsFetched) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string folder = Generated("paddle262_frozen/lenet-moving_average_abs_max-abs_max");
  const Model inference = LoadFrom(folder, "qat_inference");
  auto loaded = LoadProgram(folder + "/qat_train_main.program");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto training = Program::Create(std::move(loaded->program), "training");
  ASSERT_TRUE(training.ok()) << training.status();
  FreezeOptions options;
  options.fetches = {"fc_1.tmp_2"};
  const auto frozen = Freeze(*training, inference.scope, options);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  const FrozenModel from_inference = FreezeOrDie(inference, FrozenForm::kPortable);
  EXPECT_EQ(frozen->scope.size(), from_inference.scope.size());
  for (const auto& [name, value] : from_inference.scope) {
    const auto other = frozen->scope.Find(name);
    ASSERT_TRUE(other.ok()) << name;
    EXPECT_EQ((*other)->bytes(), std::get<Tensor>(value).bytes()) << name;
  }
}

TEST(TestProgramReference, OfEveryProgramHasNoTraining) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int stripped = 0;
  for (const std::string& path : ReferencePrograms()) {
    SCOPED_TRACE(path);
    auto loaded = LoadProgram(path);
    if (!loaded.ok()) continue;  // of the layout that nothing reads
    auto program = Program::Create(std::move(loaded->program), path);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto test = MakeTestProgram(*program);
    ASSERT_TRUE(test.ok()) << test.status();
    ASSERT_EQ(test->block_count(), program->block_count());
    bool had_training = false;
    for (int b = 0; b < program->block_count(); ++b) {
      for (const Op& op : program->block(b).ops()) had_training |= (op.role() & 0x13) != 0;
      for (const Op& op : test->block(b).ops()) EXPECT_EQ(op.role() & 0x13, 0) << Describe(op);
    }
    stripped += had_training;
    const auto again = MakeTestProgram(*test);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->Proto().SerializeAsString() == test->Proto().SerializeAsString());
  }
  EXPECT_GE(stripped, 16);
}

}  // namespace
}  // namespace fixpoint
