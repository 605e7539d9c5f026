// Parameters that the reference wrote, from 1.7 to 2.6, in both forms: each loads with its program,
// and is written back byte for byte.

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/wire/program.pb.h"
#include "runtime/parameter_file.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

struct Model {
  std::string program;
  std::string parameters;  // A file or a folder.
};

// The programs that have parameters beside them.
std::vector<Model> ReferenceModels() {
  std::vector<Model> models;
  for (const std::string& program : ReferencePrograms()) {
    if (!absl::StrContains(program, "/with_params/") && !absl::StrContains(program, "_frozen/")) {
      continue;
    }
    const absl::string_view stem = absl::StripSuffix(program, ".gz");
    const std::string folder = std::filesystem::path(program).parent_path().string();
    if (absl::EndsWith(stem, ".pdmodel")) {
      models.push_back({program, absl::StrCat(absl::StripSuffix(stem, ".pdmodel"), ".pdiparams")});
    } else if (absl::EndsWith(stem, "__model__")) {
      const std::string combined = absl::StrCat(folder, "/__params__");
      models.push_back({program, std::filesystem::exists(combined) ? combined : folder});
    }
  }
  return models;
}

ProgramDesc ReadProgram(const std::string& path) {
  ProgramDesc program;
  EXPECT_TRUE(program.ParseFromString(ReadFileOrDie(path))) << path;
  return program;
}

// What the parameters of a model are as one combined file: the bytes of its files in order.
std::string CombinedBytes(const Model& model, const ProgramDesc& program) {
  if (!std::filesystem::is_directory(model.parameters)) return ReadFileOrDie(model.parameters);
  std::string bytes;
  for (const ParameterInfo& parameter : ParametersOf(program)) {
    bytes += ReadFileOrDie(absl::StrCat(model.parameters, "/", parameter.name));
  }
  return bytes;
}

TEST(ReferenceParameters, ComeBackByteForByteInBothForms) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<Model> models = ReferenceModels();
  EXPECT_EQ(models.size(), 18u);
  for (const Model& model : models) {
    SCOPED_TRACE(model.parameters);
    const ProgramDesc program = ReadProgram(model.program);
    const absl::StatusOr<Scope> scope = LoadParameters(program, model.parameters);
    ASSERT_TRUE(scope.ok()) << scope.status();
    EXPECT_GT(scope->size(), 0u);

    const TemporaryFolder folder;
    ASSERT_EQ(SaveCombinedParameters(program, *scope, folder.Path("combined")), absl::OkStatus());
    const std::string expected = CombinedBytes(model, program);
    EXPECT_TRUE(folder.Read("combined") == expected);

    ASSERT_EQ(SaveSeparateParameters(program, *scope, folder.Path("separate")), absl::OkStatus());
    std::string separate;
    for (const ParameterInfo& parameter : ParametersOf(program)) {
      separate += folder.Read(absl::StrCat("separate/", parameter.name));
    }
    EXPECT_TRUE(separate == expected);
  }
}

TEST(ReferenceParameters, OfEveryProgramHaveAFileForm) {
  SKIP_WITHOUT_REFERENCE_DATA();
  for (const std::string& path : ReferencePrograms()) {
    if (absl::StrContains(path, "NOT_PARSEABLE")) continue;  // The layout before February 2018.
    for (const ParameterInfo& parameter : ParametersOf(ReadProgram(path))) {
      EXPECT_EQ(parameter.kind, VarType::LOD_TENSOR) << path << ": " << parameter.name;
    }
  }
}

TEST(ReferenceParameters, FrozenWeightsAreInt8InTheFile) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string folder =
      ReferencePath("models/generated/fluid185_frozen/digits_conv-abs_max/int8_inference");
  const absl::StatusOr<Scope> scope = LoadParameters(
      ReadProgram(absl::StrCat(folder, "/__model__")), absl::StrCat(folder, "/__params__"));
  ASSERT_TRUE(scope.ok()) << scope.status();
  int int8_tensors = 0;
  for (const auto& [name, value] : *scope) {
    int8_tensors += std::get<Tensor>(value).dtype() == VarType::INT8;
  }
  EXPECT_EQ(int8_tensors, 3);
}

TEST(ReferenceParameters, OfAnotherProgramAreRefused) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string folder = ReferencePath("models/with_params");
  const absl::Status status =
      LoadParameters(ReadProgram(absl::StrCat(folder, "/mtcnn_PNet/PNet.pdmodel")),
                     absl::StrCat(folder, "/mtcnn_RNet/RNet.pdiparams"))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "; the program declares [")) << status;
}

}  // namespace
}  // namespace fixpoint
