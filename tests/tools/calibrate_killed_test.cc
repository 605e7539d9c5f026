// A run of calibrate that is killed again and again: in the end its profile is that of a run that
// was not.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

constexpr int kKills = 12;

std::vector<std::string> Arguments(const TemporaryFolder& folder) {
  return {"net.txt",       "--data=digits:300", "--scores=scores",
          "--samples=300", "--batch_size=1",    "--save_every=1",
          "--threads=2",   "--resume",          "--output=" + folder.Path("profile")};
}

void WriteNetwork(const TemporaryFolder& folder) {
  folder.Write("net.txt", R"(var image f32[-1,784]
var ink f32[-1,1]
var half f32[-1,1]
var scores f32[-1,2]
reduce_sum(X=image) -> (Out=ink) {dim=[1], keep_dim=true}
elementwise_mul(X=ink, Y=ink) -> (Out=half)
concat(X=[ink, half]) -> (Out=scores) {axis=1}
)");
}

BinaryRun RunIn(const TemporaryFolder& folder, std::chrono::microseconds kill_after) {
  RunBinaryOptions options;
  options.callers_directory = folder.Path();
  options.kill_after = kill_after;
  return RunBinary("tools/calibrate", Arguments(folder), options);
}

TEST(CalibrateKilled, IsTheProfileOfOneRun) {
  const TemporaryFolder uninterrupted;
  WriteNetwork(uninterrupted);
  // The moments are spread over what a run takes here.
  const auto begin = std::chrono::steady_clock::now();
  const BinaryRun whole = RunIn(uninterrupted, std::chrono::microseconds(0));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> moment(1, longest.count() / 2);

  const TemporaryFolder folder;
  WriteNetwork(folder);
  int resumed = 0;
  for (int i = 0; i < kKills; ++i) {
    const BinaryRun run = RunIn(folder, std::chrono::microseconds(moment(random)));
    if (run.err.find("resuming from") != std::string::npos) ++resumed;
    if (run.exit_code == 0) break;
    ASSERT_EQ(run.exit_code, 128 + 9) << run.err;
  }
  EXPECT_GE(resumed, 1);
  const BinaryRun last = RunIn(folder, std::chrono::microseconds(0));
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(folder.Read("profile") == uninterrupted.Read("profile"));
}

}  // namespace
}  // namespace fixpoint
