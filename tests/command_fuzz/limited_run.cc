#include "tests/command_fuzz/limited_run.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace fixpoint {
namespace {

using Clock = std::chrono::steady_clock;

void Limit(int resource, int64_t value) {
  const rlimit limit = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  PCHECK(setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0);
}

struct Pipe {
  Pipe() { PCHECK(pipe2(ends, O_CLOEXEC) == 0); }
  int ends[2];
};

int MemoryFileOf(const std::string& bytes) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  PCHECK(file >= 0);
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t n = write(file, bytes.data() + written, bytes.size() - written);
    PCHECK(n > 0);
    written += n;
  }
  PCHECK(lseek(file, 0, SEEK_SET) == 0);
  return file;
}

std::vector<char*> PointersTo(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const ToolCommand& command) {
  std::vector<std::string> environment = command.environment;
  environment.insert(environment.end(),
                     {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "UBSAN_OPTIONS=print_stacktrace=1",
                      "ASAN_OPTIONS=detect_leaks=1:strict_init_order=1:allocator_may_return_null=1:"
                      "hard_rss_limit_mb=6000"});
  return environment;
}

// Reads from both pipes until they end or the time is up. Returns whether they ended.
bool ReadAll(const RunLimits& limits, Clock::time_point deadline, int out, int err, ToolRun* run) {
  pollfd waited[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* const kept[] = {&run->out, &run->err};
  while (waited[0].fd >= 0 || waited[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(waited, 2, static_cast<int>(left)) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (waited[i].fd < 0 || waited[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t n = read(waited[i].fd, buffer, sizeof(buffer));
      if (n <= 0) {
        waited[i].fd = -1;
      } else if (static_cast<int64_t>(kept[i]->size()) < limits.output_bytes) {
        kept[i]->append(buffer, n);
      }
    }
  }
  return true;
}

}  // namespace

bool IsSanitized() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

ToolRun RunWithin(const RunLimits& limits, const std::string& binary, const std::string& folder,
                  const ToolCommand& command) {
  std::vector<std::string> words = {binary};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  const std::vector<char*> argv = PointersTo(&words);
  std::vector<std::string> environment = EnvironmentOf(command);
  const std::vector<char*> envp = PointersTo(&environment);
  const int in = MemoryFileOf(command.input);
  const Pipe out;
  const Pipe err;

  const Clock::time_point begin = Clock::now();
  const auto deadline =
      begin + std::chrono::milliseconds(static_cast<int64_t>(limits.seconds * 1e3));
  const pid_t child = fork();
  PCHECK(child >= 0);
  if (child == 0) {
    PCHECK(setpgid(0, 0) == 0);
    PCHECK(chdir(folder.c_str()) == 0) << folder;
    Limit(RLIMIT_CORE, 0);
    if (!IsSanitized()) Limit(RLIMIT_AS, limits.address_bytes);
    if (command.file_bytes > 0) {
      signal(SIGXFSZ, SIG_IGN);  // writing then fails as on a full disk
      Limit(RLIMIT_FSIZE, command.file_bytes);
    }
    dup2(in, STDIN_FILENO);
    dup2(out.ends[1], STDOUT_FILENO);
    dup2(err.ends[1], STDERR_FILENO);
    execve(binary.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  close(in);
  close(out.ends[1]);
  close(err.ends[1]);

  ToolRun run;
  run.timed_out = !ReadAll(limits, deadline, out.ends[0], err.ends[0], &run);
  close(out.ends[0]);
  close(err.ends[0]);
  int status = 0;
  rusage usage = {};
  // A tool may close its streams and go on.
  while (!run.timed_out && wait4(child, &status, WNOHANG, &usage) != child) {
    run.timed_out = Clock::now() > deadline;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (run.timed_out) {
    kill(-child, SIGKILL);
    PCHECK(wait4(child, &status, 0, &usage) == child);
  }
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  run.peak_bytes = usage.ru_maxrss * int64_t{1024};
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + run.signal;
  return run;
}

}  // namespace fixpoint
