#include "tests/testing/run_binary.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

int OpenOrDie(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0600);
  PCHECK(descriptor >= 0) << path;
  return descriptor;
}

int ClosedPipe() {
  int ends[2];
  PCHECK(pipe(ends) == 0);
  close(ends[0]);
  return ends[1];
}

}  // namespace

BinaryRun RunBinary(const std::string& target, const std::vector<std::string>& arguments,
                    const RunBinaryOptions& options) {
  const TemporaryFolder folder;
  const char* runfiles = std::getenv("TEST_SRCDIR");
  CHECK(runfiles != nullptr) << "not under bazel test";
  const std::string binary = absl::StrCat(runfiles, "/fixpoint/", target);
  std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const int in = OpenOrDie(folder.Write("in", options.input), O_RDONLY);
  const bool to_pipe = options.output == "closed pipe";
  const bool is_closed = options.output == "closed";
  const std::string out_path =
      options.output.empty() || is_closed ? folder.Write("out", "") : options.output;
  const int out = to_pipe ? ClosedPipe() : OpenOrDie(out_path, O_WRONLY);
  const int err = OpenOrDie(folder.Write("err", ""), O_WRONLY);

  const pid_t child = fork();
  PCHECK(child >= 0);
  if (child == 0) {
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (is_closed) close(STDOUT_FILENO);
    if (options.largest_file > 0) {
      const auto bytes = static_cast<rlim_t>(options.largest_file);
      const rlimit limit = {bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (options.callers_directory.empty()) {
      unsetenv("BUILD_WORKING_DIRECTORY");
    } else {
      setenv("BUILD_WORKING_DIRECTORY", options.callers_directory.c_str(), 1);
    }
    execv(binary.c_str(), argv.data());
    _exit(127);
  }
  for (int descriptor : {in, out, err}) close(descriptor);
  if (options.kill_after.count() > 0) {
    std::this_thread::sleep_for(options.kill_after);
    kill(child, options.signal);
  }
  int status = 0;
  PCHECK(waitpid(child, &status, 0) == child);
  BinaryRun run;
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (options.output.empty()) run.out = folder.Read("out");
  run.err = folder.Read("err");
  return run;
}

}  // namespace fixpoint
