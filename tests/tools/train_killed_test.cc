// A run of training that is killed again and again: no checkpoint is lost or half written, and in
// the end it is the uninterrupted run.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/training/checkpoint.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

constexpr int kKills = 50;
constexpr int kKept = 2;
constexpr int kFirstSteps = 8;

std::vector<std::string> Arguments(const TemporaryFolder& folder, int64_t steps) {
  return {"examples/data/mlp.train.txt",
          "--startup=examples/data/mlp.startup.txt",
          "--data=digits:50",
          "--batch_size=4",
          "--checkpoint_every=1",
          absl::StrCat("--keep_checkpoints=", kKept),
          "--resume",
          absl::StrCat("--steps=", steps),
          "--checkpoint_dir=" + folder.Path("run")};
}

// Runs it for some time; gives whether it had to be killed.
bool RunAndKill(const std::vector<std::string>& arguments, std::chrono::microseconds time) {
  RunBinaryOptions options;
  options.kill_after = time;
  return RunBinary("tools/train", arguments, options).exit_code == 128 + SIGKILL;
}

std::vector<int64_t> StepsIn(const TemporaryFolder& folder) {
  return *CheckpointFolder::Open(folder.Path("run"), kKept)->Steps();
}

TEST(TrainKilled, NoCheckpointIsLostOrHalfWritten) {
  const TemporaryFolder folder;
  // The moments are spread over what a start and some checkpoints take here.
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(RunBinary("tools/train", Arguments(folder, kFirstSteps)).exit_code, 0);
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> moment(1, longest.count());

  int64_t last = kFirstSteps;
  for (int i = 0; i < kKills; ++i) {
    ASSERT_TRUE(RunAndKill(Arguments(folder, 1000000), std::chrono::microseconds(moment(random))));
    const std::vector<int64_t> steps = StepsIn(folder);
    ASSERT_FALSE(steps.empty());
    ASSERT_GE(steps.back(), last) << "a checkpoint is lost";
    // One that is too many, where the kill came before the oldest was removed.
    ASSERT_GE(steps.size(), kKept);
    ASSERT_LE(steps.size(), kKept + 1);
    last = steps.back();
    for (const int64_t step : steps) {
      const auto checkpoint = LoadCheckpoint(absl::StrCat(folder.Path("run/step-"), step));
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
      ASSERT_EQ(checkpoint->state.step(), step);
      ASSERT_EQ(checkpoint->scope.size(), 9);
    }
  }

  ++last;
  ASSERT_EQ(RunBinary("tools/train", Arguments(folder, last)).exit_code, 0);
  const TemporaryFolder uninterrupted;
  ASSERT_EQ(RunBinary("tools/train", Arguments(uninterrupted, last)).exit_code, 0);
  const std::string values = absl::StrCat("run/step-", last, "/values.npz");
  EXPECT_TRUE(folder.Read(values) == uninterrupted.Read(values));
}

}  // namespace
}  // namespace fixpoint
