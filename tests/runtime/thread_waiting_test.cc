// A process whose threads are to spin briefly restarts itself once, with that in its environment.

#include "runtime/thread_waiting.h"

#include <glog/logging.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace fixpoint {
namespace {

constexpr char kChild[] = "--child";

// What this process was begun with, whatever it has set since: its arguments and what the
// environment says of waiting, one on a line.
int PrintBeginning(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) std::puts(argv[i]);
  std::ifstream file("/proc/self/environ");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> lines;
  for (const absl::string_view entry : absl::StrSplit(all, '\0')) {
    if (absl::StartsWith(entry, "OMP_WAIT_POLICY=") || absl::StartsWith(entry, "GOMP_SPINCOUNT=")) {
      lines.emplace_back(entry);
    }
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) std::puts(line.c_str());
  return 0;
}

// What a child prints that is begun in an environment that says only this of waiting.
std::string BeginningOfChild(const std::vector<std::string>& environment) {
  int ends[2];
  PCHECK(pipe(ends) == 0);
  const pid_t child = fork();
  PCHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
    execl("/proc/self/exe", "child", kChild, "two words", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string printed;
  std::array<char, 256> buffer;
  for (ssize_t count; (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    printed.append(buffer.data(), count);
  }
  close(ends[0]);
  int status = 0;
  PCHECK(waitpid(child, &status, 0) == child);
  EXPECT_EQ(status, 0);
  return printed;
}

TEST(ThreadWaiting, IsInTheEnvironmentOfAProcessThatBeginsAnewWithItsArguments) {
  EXPECT_EQ(BeginningOfChild({}), "two words\nGOMP_SPINCOUNT=2000\n");
}

TEST(ThreadWaiting, LeavesWhatTheEnvironmentSays) {
  EXPECT_EQ(BeginningOfChild({"OMP_WAIT_POLICY=active"}), "two words\nOMP_WAIT_POLICY=active\n");
  EXPECT_EQ(BeginningOfChild({"GOMP_SPINCOUNT=5"}), "two words\nGOMP_SPINCOUNT=5\n");
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == fixpoint::kChild) {
    fixpoint::SpinBriefly(argv);
    return fixpoint::PrintBeginning(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
