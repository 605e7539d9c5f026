#include "runtime/inference_model.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/program_file.h"
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

}  // namespace
}  // namespace fixpoint
