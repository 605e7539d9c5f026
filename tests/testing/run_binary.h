// Runs a binary of ours as a process of its own, as a user does.

#ifndef FIXPOINT_TESTS_TESTING_RUN_BINARY_H_
#define FIXPOINT_TESTS_TESTING_RUN_BINARY_H_

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace fixpoint {

struct BinaryRun {
  int exit_code = 0;  // 128 + n where signal n ended it
  std::string out;
  std::string err;
};

struct RunBinaryOptions {
  std::string input;  // on standard input
  // What BUILD_WORKING_DIRECTORY says, as under `bazel run`; "": it is not set.
  std::string callers_directory;
  // Where standard output goes instead of BinaryRun::out: "/dev/full", "closed pipe", or "closed".
  std::string output;
  // Beyond so many bytes a file cannot be written, as on a full disk; 0: no limit.
  int64_t largest_file = 0;
  // When it gets a signal, if it has not ended; 0: it gets none.
  std::chrono::microseconds kill_after{0};
  int signal = SIGKILL;
};

// `target` is a path in the workspace ("tools/inspect") that the test's target names as data.
BinaryRun RunBinary(const std::string& target, const std::vector<std::string>& arguments,
                    const RunBinaryOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_RUN_BINARY_H_
