// The whole way on real training programs: transpile, pretend that it was trained, freeze.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "tests/testing/reference_data.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

// The float training programs of both eras.
std::vector<std::string> TrainingPrograms() {
  std::vector<std::string> paths;
  for (const std::string& path : ReferencePrograms()) {
    if (absl::StrContains(path, "train_main.pdmodel")) paths.push_back(path);
  }
  return paths;
}

// Values for all persistable variables: any, but no two channels alike.
Scope PretendTrained(const Program& program) {
  Scope scope;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    auto tensor = Tensor::Allocate(parameter.dtype, parameter.dims);
    EXPECT_TRUE(tensor.ok()) << parameter.name << ": " << tensor.status();
    if (tensor->dtype() == VarType::FP32) {
      uint32_t state = 1;
      for (float& value : tensor->mutable_data<float>()) {
        state = state * 1664525u + 1013904223u;
        value = 0.25f + static_cast<float>(state >> 8) * 0x1p-24f;
      }
    } else {
      for (uint8_t& byte : tensor->mutable_bytes()) byte = 0;
    }
    scope.Set(parameter.name, *std::move(tensor));
  }
  return scope;
}

// Larger programs have more of the same layers, and take seconds each.
constexpr int64_t kLargest = int64_t{4} << 20;

int64_t PersistableBytes(const Program& program) {
  int64_t bytes = 0;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    bytes += TensorBytes(parameter.dtype, parameter.dims).value_or(0);
  }
  return bytes;
}

std::string LossOf(const Program& program) {
  std::string loss;
  for (const Op& op : program.block(0).ops()) {
    if (op.role() == (kForward | kLoss) && !op.outputs().empty()) {
      loss = std::string(op.outputs().front()->name());
    }
  }
  return loss;
}

// Every name is declared, every parameter there, and no constant is quantized when it runs.
void CheckFrozen(const FrozenModel& model) {
  Parameters weights;
  for (const Op& op : model.program.ops()) {
    EXPECT_EQ(op.role() & (kBackward | kOptimize | kLearningRate), 0) << Describe(op);
    for (const Argument* input : op.inputs()) {
      if (input->variable() == nullptr) continue;
      EXPECT_NE(input->variable()->desc(), nullptr) << Describe(op) << ": " << input->name();
    }
  }
  const auto sites = FindQuantizationSites(model.program, QuantizerTable());
  if (sites.ok()) {  // of the legacy forms they are half
    for (const QuantizationSite& site : *sites) {
      EXPECT_FALSE(weights.IsWeight(*site.input->value())) << Describe(*site.quantize);
    }
  }
  size_t parameters = 0;
  for (const ParameterInfo& parameter : ParametersOf(model.program.Proto())) {
    const auto tensor = model.scope.Find(parameter.name);
    ASSERT_TRUE(tensor.ok()) << parameter.name;
    EXPECT_EQ((*tensor)->dims(), parameter.dims) << parameter.name;
    EXPECT_EQ((*tensor)->dtype(), parameter.dtype) << parameter.name;
    ++parameters;
  }
  EXPECT_EQ(model.scope.size(), parameters);
}

TEST(FreezeTranspiled, TrainingProgramsFreezeForEveryTargetInEveryForm) {
  SKIP_WITHOUT_REFERENCE_DATA();
  int frozen_programs = 0;
  for (const std::string& path : TrainingPrograms()) {
    for (const char* const target : {"paddle_2_6", "paddle_1_8", "onednn_int8"}) {
      SCOPED_TRACE(absl::StrCat(path, " for ", target));
      auto loaded = LoadProgram(path);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      auto program = Program::Create(std::move(loaded->program), "program");
      ASSERT_TRUE(program.ok()) << program.status();
      TranspileOptions transpile;
      transpile.config.set_target(target);
      const auto result = Transpile(&*program, transpile);
      ASSERT_TRUE(result.ok()) << result.status();
      if (!program->Proto().has_edit_log()) continue;  // nothing to quantize
      if (PersistableBytes(*program) > kLargest) continue;
      const Scope scope = PretendTrained(*program);
      for (const FrozenForm form :
           {FrozenForm::kPortable, FrozenForm::kLegacy, FrozenForm::kLegacyInt8}) {
        FreezeOptions options;
        options.form = form;
        options.fetches = {LossOf(*program)};
        options.allow_dynamic = true;
        const auto frozen = Freeze(*program, scope, options);
        ASSERT_TRUE(frozen.ok()) << frozen.status();
        EXPECT_GT(frozen->weights.count, 0);
        EXPECT_FALSE(frozen->program.Proto().has_edit_log());
        CheckFrozen(*frozen);
        ++frozen_programs;
      }
    }
  }
  EXPECT_GE(frozen_programs, 54);
}

}  // namespace
}  // namespace fixpoint
