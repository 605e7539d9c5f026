// Checkpoints: what was written is read again, by the same run only.

#include "runtime/training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "tests/runtime/training/small_network.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TrainingState StateAt(int64_t step) {
  TrainingState state;
  state.set_step(step);
  state.set_program("mlp.txt");
  state.set_program_checksum(7);
  state.set_data("digits");
  state.set_data_checksum(8);
  state.set_seed(9);
  state.set_batch_size(10);
  state.set_backend("onednn");
  state.set_threads(1);
  return state;
}

constexpr char kValues[] = "a/w f32[2] 1 nan\nn i64[1] 5\nscalar f32[] -0.5\n";

TEST(Checkpoint, HoldsEveryVariableAndTheState) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints = *CheckpointFolder::Open(folder.Path("run/checkpoints"), 3);
  ASSERT_EQ(checkpoints.Write(StateAt(40), *ParseParameters(kValues, "values")), absl::OkStatus());
  EXPECT_THAT(folder.Files(), ElementsAre("run/checkpoints/step-40/state.textproto",
                                          "run/checkpoints/step-40/values.npz"));
  const auto checkpoint = LoadCheckpoint(checkpoints.PathOf(40));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(PrintParameters(checkpoint->scope), kValues);
  EXPECT_EQ(checkpoint->state.SerializeAsString(), StateAt(40).SerializeAsString());
}

TEST(CheckpointFolder, KeepsTheLastOnes) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints = *CheckpointFolder::Open(folder.Path(), 2);
  for (const int64_t step : {8, 9, 10, 11}) {
    ASSERT_EQ(checkpoints.Write(StateAt(step), Scope()), absl::OkStatus());
  }
  EXPECT_THAT(*checkpoints.Steps(), ElementsAre(10, 11));
  // A run that is told to keep fewer removes more.
  checkpoints = *CheckpointFolder::Open(folder.Path(), 1);
  ASSERT_EQ(checkpoints.Write(StateAt(12), Scope()), absl::OkStatus());
  EXPECT_THAT(*checkpoints.Steps(), ElementsAre(12));
}

TEST(CheckpointFolder, RemovesThoseThatAreTooManyBeforeItWritesAnother) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints = *CheckpointFolder::Open(folder.Path(), 9);
  for (const int64_t step : {8, 9, 10, 11}) {
    ASSERT_EQ(checkpoints.Write(StateAt(step), Scope()), absl::OkStatus());
  }
  checkpoints = *CheckpointFolder::Open(folder.Path(), 2);
  EXPECT_THAT(*checkpoints.Steps(), ElementsAre(8, 9, 10, 11));
  Scope unwritten;
  unwritten.Set("bf16", *Tensor::Allocate(VarType::BF16, {1}));
  EXPECT_EQ(checkpoints.Write(StateAt(12), unwritten).code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(*checkpoints.Steps(), ElementsAre(10, 11));
}

TEST(CheckpointFolder, RemovesWhatAKilledRunLeftAndNothingElse) {
  const TemporaryFolder folder;
  folder.Write(".fixpoint-77-0/values.npz", "half");
  folder.Write(".fixpoint-77-step-3/values.npz", "half");
  folder.Write("notes.txt", "mine");
  folder.Write("step-007/values.npz", "mine");
  const CheckpointFolder checkpoints = *CheckpointFolder::Open(folder.Path(), 2);
  EXPECT_THAT(folder.Files(), ElementsAre("notes.txt", "step-007/values.npz"));
  EXPECT_THAT(*checkpoints.Steps(), ElementsAre());
}

TEST(CheckpointFolder, ThatCannotBeMadeIsAnError) {
  const TemporaryFolder folder;
  folder.Write("file", "");
  EXPECT_EQ(CheckpointFolder::Open(folder.Path("file/checkpoints"), 2).status(),
            absl::UnavailableError(absl::StrCat(folder.Path("file/checkpoints"),
                                                ": cannot be written: Not a directory")));
}

class CheckIsOfRunTest : public testing::Test {
 protected:
  CheckIsOfRunTest() {
    checkpoint_.path = "c/step-40";
    checkpoint_.state = StateAt(40);
    checkpoint_.scope = *ParseParameters("w f32[2] 1 2\nlater f32[1] 0\n", "values");
  }

  std::string Error(const TrainingState& run, const char* initial = "w f32[2] 0 0\n") {
    return std::string(
        CheckIsOfRun(checkpoint_, run, *ParseParameters(initial, "initial")).message());
  }

  Checkpoint checkpoint_;
};

TEST_F(CheckIsOfRunTest, TheSameRunGoesOn) { EXPECT_EQ(Error(StateAt(0)), ""); }

TEST_F(CheckIsOfRunTest, AnotherRunIsRefusedByName) {
  TrainingState run = StateAt(0);
  run.set_program("lenet.txt");
  EXPECT_EQ(Error(run), "");  // the same program by another name
  run.set_program_checksum(1);
  EXPECT_EQ(
      Error(run),
      "c/step-40: belongs to a run with another program, mlp.txt, and this one has lenet.txt; "
      "want the same");
  run = StateAt(0);
  run.set_data("mnist:m");
  run.set_data_checksum(1);
  EXPECT_EQ(
      Error(run),
      "c/step-40: belongs to a run with other data, digits, and this one has mnist:m; want the "
      "same");
  run = StateAt(0);
  run.set_seed(1);
  EXPECT_EQ(Error(run),
            "c/step-40: belongs to a run with seed 9, and this one has 1; want the same");
  run = StateAt(0);
  run.set_batch_size(1);
  EXPECT_EQ(Error(run),
            "c/step-40: belongs to a run with batch size 10, and this one has 1; want the same");
  run = StateAt(0);
  run.set_backend("reference");
  EXPECT_EQ(
      Error(run),
      "c/step-40: belongs to a run with backend onednn, and this one has reference; want the same");
  run = StateAt(0);
  run.set_threads(2);
  EXPECT_EQ(Error(run),
            "c/step-40: belongs to a run with threads 1, and this one has 2; want the same");
  run = StateAt(0);
  run.set_backward("bf16");
  EXPECT_EQ(Error(run),
            "c/step-40: belongs to a run with a backward pass in f32, and this one has bf16; want "
            "the same");
}

TEST_F(CheckIsOfRunTest, OtherVariablesAreRefusedByName) {
  EXPECT_EQ(Error(StateAt(0), "v f32[2] 0 0\nw f32[2] 0 0\n"),
            "c/step-40/values.npz: variable \"v\" is not there; want FP32 [2]");
  EXPECT_EQ(Error(StateAt(0), "w f32[1,2] 0 0\n"),
            "c/step-40/values.npz: variable \"w\" is FP32 [2]; want FP32 [1, 2]");
}

TEST(Checkpoint, ADamagedOneIsAnErrorOfItsFile) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints = *CheckpointFolder::Open(folder.Path(), 2);
  ASSERT_EQ(checkpoints.Write(StateAt(1), *ParseParameters(kValues, "values")), absl::OkStatus());
  const std::string path = checkpoints.PathOf(1);
  const std::string values = folder.Read("step-1/values.npz");
  folder.Write("step-1/values.npz", values.substr(0, values.size() / 2));
  EXPECT_THAT(std::string(LoadCheckpoint(path).status().message()),
              StartsWith(path + "/values.npz: "));
  folder.Write("step-1/values.npz", values);
  EXPECT_EQ(LoadCheckpoint(path).status(), absl::OkStatus());
  folder.Write("step-1/state.textproto", "step: -1");
  EXPECT_EQ(LoadCheckpoint(path).status(),
            absl::InvalidArgumentError(
                absl::StrCat(path, "/state.textproto: its step is missing, or below 0")));
}

TEST(Checksum, TellsProgramsApart) {
  const Program program = ParsedProgram("relu(X=x) -> (Out=y)\n");
  EXPECT_EQ(ChecksumOf(program), ChecksumOf(program.Clone()));
  EXPECT_NE(ChecksumOf(program), ChecksumOf(ParsedProgram("relu(X=x) -> (Out=z)\n")));
}

}  // namespace
}  // namespace fixpoint
