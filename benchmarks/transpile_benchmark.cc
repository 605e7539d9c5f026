// What a transpile costs beside protobuf's own parse and serialize of the same file, in one run, on
// the ops of the SSD training program repeated to 10,000 and to 100,000:
//
//   ./bazelw run --config=opt //benchmarks:transpile_benchmark
//
// Milliseconds of processor time, medians of the rounds, the steps in turn in each round. Bounds:
// index, plan and edits together at most the parse; the tool, as a process, at most 2.5 times parse
// plus serialize; 100,000 ops at most eleven times 10,000; the tool's memory at its peak at most
// three times what the parsed message holds.

#include <glog/logging.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/op_mix.h"
#include "ops/verifier.h"
#include "proto/program.h"
#include "proto/program_file.h"
#include "transpiler/invariants.h"
#include "transpiler/planner.h"
#include "transpiler/quantize_transpiler.h"
#include "transpiler/target.h"

namespace fixpoint {
namespace {

double ProcessorMilliseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Times {
 public:
  template <typename Run>
  void Measure(const std::string& step, Run run) {
    const double start = ProcessorMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
    run();
    Add(step, ProcessorMilliseconds(CLOCK_PROCESS_CPUTIME_ID) - start);
  }
  void Add(const std::string& step, double milliseconds) {
    if (times_.count(step) == 0) order_.push_back(step);
    times_[step].push_back(milliseconds);
  }
  double Median(const std::string& step) const {
    std::vector<double> times = times_.at(step);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
  const std::vector<std::string>& steps() const { return order_; }

 private:
  std::map<std::string, std::vector<double>> times_;
  std::vector<std::string> order_;
};

size_t HeapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

// Processor time of the tool as a process, in milliseconds, and its peak memory in bytes.
std::pair<double, size_t> RunTool(const std::string& tool, const std::string& program) {
  std::fflush(stdout);
  const pid_t child = fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    CHECK(std::freopen("/dev/null", "w", stdout) != nullptr);
    execl(tool.c_str(), tool.c_str(), program.c_str(), "--output=/dev/shm/fixpoint_benchmark.out",
          "--startup_output=/dev/shm/fixpoint_benchmark.startup", nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage;
  CHECK_EQ(wait4(child, &status, 0, &usage), child);
  CHECK_EQ(WEXITSTATUS(status), 0);
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
  };
  return {milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
          static_cast<size_t>(usage.ru_maxrss) * 1024};
}

struct Result {
  double parse;
  double serialize;
  double rewrite;
  double tool;
  double total;
};

Result Run(int ops, int rounds, const std::string& tool) {
  const std::string bytes = RepeatOpMix(OpMixSeed(), ops).SerializeAsString();
  const std::string path = "/dev/shm/fixpoint_benchmark.pdmodel";
  {
    ProgramDesc program;
    CHECK(program.ParseFromString(bytes));
    CHECK(SaveProgram(program, ProgramFormat::kBinary, path).ok());
  }
  const Target target = *BuiltInTarget(kDefaultTarget);
  const QuantizerTable quantizers;
  const QuantConfig config;
  const PassTable passes;
  Times times;
  size_t parsed_heap = 0;
  size_t tool_peak = 0;
  for (int round = 0; round < rounds; ++round) {
    const size_t heap = HeapBytes();
    ProgramDesc desc;
    times.Measure("parse", [&] { CHECK(desc.ParseFromString(bytes)); });
    parsed_heap = HeapBytes() - heap;
    std::string out;
    times.Measure("serialize", [&] { CHECK(desc.SerializeToString(&out)); });
    out = std::string();
    desc = ProgramDesc();
    ProgramMessage message;
    times.Measure("parse, as the tool does", [&] { CHECK(message->ParseFromString(bytes)); });
    std::optional<Program> indexed;
    times.Measure("index", [&] { indexed = *Program::Create(std::move(message)); });
    Program& program = *indexed;
    times.Measure("verify", [&] { CHECK(!HasErrors(Verify(program))); });
    {
      PassContext context(config, target, quantizers);
      Program startup;
      context.startup = &startup;
      times.Measure("plan",
                    [&] { CHECK(passes.Find("plan_quantizers")->Run(program, context).ok()); });
      times.Measure("edits", [&] {
        CHECK(passes.Find("insert_quantizers")->Run(program, context).ok());
        CHECK(passes.Find("initialize_state")->Run(program, context).ok());
        program.Proto();
      });
      times.Measure("invariants",
                    [&] { CHECK(CheckInvariants(program, context.plan, startup).empty()); });
      times.Measure("undo", [&] { program.RevertEdits(); });
    }
    times.Measure("Transpile, all of it", [&] { CHECK(Transpile(&program).ok()); });
    const auto [milliseconds, peak] = RunTool(tool, path);
    times.Add("the tool, as a process", milliseconds);
    tool_peak = std::max(tool_peak, peak);
  }
  std::printf("%d ops, %.1f MB, %d rounds\n", ops, static_cast<double>(bytes.size()) * 1e-6,
              rounds);
  for (const std::string& step : times.steps()) {
    std::printf("  %-24s %9.1f ms\n", step.c_str(), times.Median(step));
  }
  const double parse = times.Median("parse");
  const double serialize = times.Median("serialize");
  const double rewrite = times.Median("index") + times.Median("plan") + times.Median("edits");
  const double tool_time = times.Median("the tool, as a process");
  std::printf("  index + plan + edits : parse           %6.2f   (bound 1)\n", rewrite / parse);
  std::printf("  the tool : parse + serialize           %6.2f   (bound 2.5)\n",
              tool_time / (parse + serialize));
  std::printf("  heap of the message                    %6.1f MB\n",
              static_cast<double>(parsed_heap) * 1e-6);
  std::printf("  the tool's peak : of the message       %6.2f   (bound 3)\n\n",
              static_cast<double>(tool_peak) / static_cast<double>(parsed_heap));
  std::remove(path.c_str());
  return {parse, serialize, rewrite, tool_time, times.Median("Transpile, all of it")};
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  const char* runfiles = std::getenv("RUNFILES_DIR");
  const std::string tool =
      runfiles != nullptr ? std::string(runfiles) + "/fixpoint/tools/transpile" : "tools/transpile";
  if (argc == 3) {  // OPS ROUNDS
    fixpoint::Run(std::atoi(argv[1]), std::atoi(argv[2]), tool);
    return 0;
  }
  const fixpoint::Result small = fixpoint::Run(10000, 9, tool);
  const fixpoint::Result large = fixpoint::Run(100000, 3, tool);
  std::printf("100,000 ops : 10,000 ops (bound 11)\n");
  std::printf("  index + plan + edits  %6.2f\n", large.rewrite / small.rewrite);
  std::printf("  Transpile             %6.2f\n", large.total / small.total);
  std::printf("  the tool              %6.2f\n", large.tool / small.tool);
  return 0;
}
