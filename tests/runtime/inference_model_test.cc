#include "runtime/inference_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor.h"
#include "tests/runtime/parameter_program.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

TEST(InferenceModel, IsAProgramAndItsParameters) {
  const TemporaryFolder folder;
  const ProgramDesc program = ProgramWith({{"w", {2}}});
  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({2}, {1, 2}));
  scope.Set("momentum", Tensor::FromValues<float>({2}, {3, 4}));
  ASSERT_EQ(SaveInferenceModel(program, scope, folder.Path("net")), absl::OkStatus());
  const auto loaded = LoadProgram(folder.Path("net.pdmodel"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->program->SerializeAsString(), program.SerializeAsString());
  const auto parameters = LoadParameters(program, folder.Path("net.pdiparams"));
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(parameters->size(), 1u);
  EXPECT_EQ((*parameters->Find("w"))->data<float>(), absl::MakeConstSpan({1.0f, 2.0f}));
}

TEST(InferenceModel, IsNotThereWithoutAParameter) {
  const TemporaryFolder folder;
  EXPECT_EQ(SaveInferenceModel(ProgramWith({{"w", {2}}}), Scope(), folder.Path("net")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(folder.Files().empty());
}

class LoadedModel : public testing::Test {
 protected:
  void Save(const std::string& prefix) {
    Scope scope;
    scope.Set("w", Tensor::FromValues<float>({2}, {1, 2}));
    ASSERT_EQ(SaveInferenceModel(ProgramWith({{"w", {2}}}), scope, folder_.Path(prefix)),
              absl::OkStatus());
  }

  static void ExpectIsThere(const std::string& path) {
    const auto model = LoadInferenceModel(path);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model->parameters.Find("w"))->data<float>(), absl::MakeConstSpan({1.0f, 2.0f}));
  }

  const TemporaryFolder folder_;
};

TEST_F(LoadedModel, IsFoundByItsNameOrItsFolder) {
  Save("net");
  ExpectIsThere(folder_.Path("net"));
  ExpectIsThere(folder_.Path());
}

TEST_F(LoadedModel, IsFoundAsItWasNamedBefore20) {
  Save("net");
  std::filesystem::rename(folder_.Path("net.pdmodel"), folder_.Path("__model__"));
  std::filesystem::rename(folder_.Path("net.pdiparams"), folder_.Path("__params__"));
  ExpectIsThere(folder_.Path());
  std::filesystem::rename(folder_.Path("__params__"), folder_.Path("w"));
  ExpectIsThere(folder_.Path());
}

TEST_F(LoadedModel, IsOneOfItsFolder) {
  Save("net");
  Save("other");
  const std::string path = folder_.Path();
  EXPECT_EQ(LoadInferenceModel(path).status(),
            absl::NotFoundError(path + ": has no __model__ and 2 files *.pdmodel; want one, or its "
                                       "path without the extension"));
  ExpectIsThere(folder_.Path("other"));
}

TEST_F(LoadedModel, IsNamedWhereThereIsNone) {
  const std::string path = folder_.Path("net");
  EXPECT_EQ(LoadInferenceModel(path).status(),
            absl::NotFoundError(path + ": is not a folder, and there is no " + path +
                                ".pdmodel; want a model as transpile --mode=freeze writes it"));
}

}  // namespace
}  // namespace fixpoint
