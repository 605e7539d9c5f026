// What a transpile costs beside protobuf's own parse and serialize of the same file, in one run, on
// the ops of the SSD training program repeated to 10,000 and to 100,000:
//
//   ./bazelw run --config=opt //benchmarks:transpile_benchmark
//
// Milliseconds of processor time, medians of the rounds; the processes of a round in turn. "once":
// the first time in a process, which has to ask the kernel for memory, as every run of the tool
// does. "again": the second time in the same process, when malloc has kept the memory of the first.
// Before each process as much memory is touched as any of them needs: a hypervisor that takes free
// memory away gives it back at many times the kernel's price, to whichever process comes first.
//
// Bounds: index, plan and edits together at most the parse; the tool at most 2.5 times parse plus
// serialize, both as processes that read and write files; 100,000 ops at most eleven times 10,000;
// the tool's memory at its peak, less what it takes for a program of one op, at most three times
// what the parsed message holds.

#include <glog/logging.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/op_mix.h"
#include "ops/verifier.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "transpiler/plan/planner.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/invariants.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_context.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

constexpr char kInput[] = "/dev/shm/fixpoint_benchmark.pdmodel";
constexpr char kOneOp[] = "/dev/shm/fixpoint_benchmark.one_op.pdmodel";
constexpr char kOutput[] = "/dev/shm/fixpoint_benchmark.out";
constexpr char kStartupOutput[] = "/dev/shm/fixpoint_benchmark.startup";

// A process of this program does one of these.
constexpr char kProtobufSteps[] = "protobuf_steps";
constexpr char kTranspileSteps[] = "transpile_steps";
constexpr char kParseAndSerialize[] = "parse_and_serialize";
constexpr char kUsage[] = "usage";

double ProcessorMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Prints what a step took: "<milliseconds> <step>".
template <typename Run>
void Measure(const char* step, Run run) {
  const double start = ProcessorMilliseconds();
  run();
  std::printf("%f %s\n", ProcessorMilliseconds() - start, step);
}

size_t HeapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void KeepMemory() {
  CHECK_EQ(mallopt(M_MMAP_MAX, 0), 1);
  CHECK_EQ(mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max()), 1);
}

std::string InputBytes() {
  std::ifstream input(kInput, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}

int ProtobufSteps() {
  KeepMemory();
  const std::string bytes = InputBytes();
  for (int repetition = 0; repetition < 2; ++repetition) {
    const size_t heap = HeapBytes();
    ProgramDesc program;
    Measure("parse", [&] { CHECK(program.ParseFromString(bytes)); });
    std::printf("%f heap\n", static_cast<double>(HeapBytes() - heap));
    std::string out;
    Measure("serialize", [&] { CHECK(program.SerializeToString(&out)); });
  }
  return 0;
}

int TranspileSteps() {
  KeepMemory();
  const std::string bytes = InputBytes();
  const Target target = *BuiltInTarget(kDefaultTarget);
  const QuantizerTable quantizers;
  const CheckTable checks;
  const QuantConfig config;
  const PassTable passes = TrainPasses();
  for (int repetition = 0; repetition < 2; ++repetition) {
    ProgramMessage message;
    Measure("parse into an arena", [&] { CHECK(message->ParseFromString(bytes)); });
    std::optional<Program> indexed;
    Measure("index", [&] { indexed = *Program::Create(std::move(message)); });
    Program& program = *indexed;
    Program startup;
    TrainContext context(quantizers, config, target, checks, &startup);
    Measure("plan", [&] { CHECK(passes.Find("plan_quantizers")->Run(program, context).ok()); });
    Measure("edits", [&] {
      CHECK(passes.Find("insert_quantizers")->Run(program, context).ok());
      CHECK(passes.Find("initialize_state")->Run(program, context).ok());
      program.Proto();
    });
    Measure("verify", [&] { CHECK(!HasErrors(Verify(program))); });
    Measure("invariants", [&] { CHECK(CheckInvariants(program, context.plan, startup).empty()); });
    Measure("undo", [&] { program.RevertEdits(); });
  }
  return 0;
}

// Reads, parses, serializes and writes, as protobuf does it.
int ParseAndSerialize() {
  std::ifstream input(kInput, std::ios::binary);
  ProgramDesc program;
  CHECK(program.ParseFromIstream(&input));
  std::ofstream output(kOutput, std::ios::binary);
  CHECK(program.SerializeToOstream(&output));
  return 0;
}

// Runs a command, and prints the processor time and the peak of the memory that it needed. A
// process between, because the peak of a child counts the memory that its parent had.
int PrintUsage(char** command) {
  const pid_t child = fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    CHECK(std::freopen("/dev/null", "w", stdout) != nullptr);
    execv(command[0], command);
    _exit(127);
  }
  int status = 0;
  rusage usage;
  CHECK_EQ(wait4(child, &status, 0, &usage), child);
  CHECK_EQ(WEXITSTATUS(status), 0) << command[0];
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
  };
  std::printf("%f process\n%f peak\n", milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
              static_cast<double>(usage.ru_maxrss) * 1024);
  return 0;
}

// The figures that processes print, by name; all rounds of the first time in a process, and of the
// second.
class Figures {
 public:
  explicit Figures(size_t memory) : memory_(memory) {}

  void RunProcess(const std::string& command, const std::string& suffix = "") {
    TouchMemory();
    FILE* const pipe = popen(absl::StrCat("/proc/", getpid(), "/exe ", command).c_str(), "r");
    CHECK(pipe != nullptr);
    std::map<std::string, int> seen;
    double value = 0;
    char name[64];
    while (std::fscanf(pipe, "%lf %63[^\n]", &value, name) == 2) {
      const std::string figure = absl::StrCat(name, suffix);
      if (figures_.count(figure) == 0) order_.push_back(figure);
      figures_[figure][seen[figure]++].push_back(value);
    }
    CHECK_EQ(pclose(pipe), 0) << command;
  }
  double Median(const std::string& figure, int repetition = 0) const {
    std::vector<double> values = figures_.at(figure)[repetition];
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
  }
  const std::vector<std::string>& names() const { return order_; }

 private:
  void TouchMemory() const {
    const pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
      void* const memory = mmap(nullptr, memory_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      _exit(memory == MAP_FAILED);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }

  size_t memory_;
  std::map<std::string, std::array<std::vector<double>, 2>> figures_;
  std::vector<std::string> order_;
};

struct Result {
  double rewrite;
  double tool;
};

Result Run(int ops, int rounds, const std::string& tool) {
  CHECK(SaveProgram(RepeatOpMix(OpMixSeed(), ops), ProgramFormat::kBinary, kInput).ok());
  CHECK(SaveProgram(RepeatOpMix(OpMixSeed(), 1), ProgramFormat::kBinary, kOneOp).ok());
  constexpr size_t kMemoryPerOp = 20000;
  Figures figures(ops * kMemoryPerOp);
  const auto run_tool = [&](const char* input, const char* suffix) {
    figures.RunProcess(absl::StrCat(kUsage, " ", tool, " ", input, " --output=", kOutput,
                                    " --startup_output=", kStartupOutput),
                       suffix);
  };
  for (int round = 0; round < rounds; ++round) {
    figures.RunProcess(kProtobufSteps);
    figures.RunProcess(kTranspileSteps);
    figures.RunProcess(absl::StrCat(kUsage, " /proc/", getpid(), "/exe ", kParseAndSerialize),
                       ": parse, serialize");
    run_tool(kInput, ": the tool");
    run_tool(kOneOp, ": the tool, one op");
  }
  std::printf("%d ops, %zu bytes, %d rounds%15s%9s\n", ops, InputBytes().size(), rounds, "once",
              "again");
  for (const std::string& name : figures.names()) {
    if (name == "heap" || absl::StartsWith(name, "peak")) continue;
    std::printf("  %-33s %8.1f", name.c_str(), figures.Median(name));
    const double again = figures.Median(name, 1);
    std::printf(again > 0 ? " %8.1f\n" : "\n", again);
  }
  double rewrite[2];
  for (int repetition : {0, 1}) {
    rewrite[repetition] = figures.Median("index", repetition) + figures.Median("plan", repetition) +
                          figures.Median("edits", repetition);
  }
  const double tool_time = figures.Median("process: the tool");
  std::printf("  index + plan + edits : parse      %8.2f %8.2f   (bound 1)\n",
              rewrite[0] / figures.Median("parse"), rewrite[1] / figures.Median("parse", 1));
  std::printf("  the tool : parse, serialize       %8.2f            (bound 2.5)\n",
              tool_time / figures.Median("process: parse, serialize"));
  std::printf("  the tool : \"again\" of both        %8.2f\n",
              tool_time / (figures.Median("parse", 1) + figures.Median("serialize", 1)));
  std::printf("  heap of the message, MB           %8.1f\n", figures.Median("heap") * 1e-6);
  const double one_op = figures.Median("peak: the tool, one op");
  std::printf("  the tool's peak on one op, MB     %8.1f\n", one_op * 1e-6);
  std::printf("  its peak, less that, : that heap  %8.2f            (bound 3)\n\n",
              (figures.Median("peak: the tool") - one_op) / figures.Median("heap"));
  for (const char* path : {kInput, kOneOp, kOutput, kStartupOutput}) std::remove(path);
  return {rewrite[0], tool_time};
}

int Main(int argc, char** argv) {
  const std::string process = argc > 1 ? argv[1] : "";
  if (process == kProtobufSteps) return ProtobufSteps();
  if (process == kTranspileSteps) return TranspileSteps();
  if (process == kParseAndSerialize) return ParseAndSerialize();
  if (process == kUsage) return PrintUsage(argv + 2);
  const char* runfiles = std::getenv("RUNFILES_DIR");
  const std::string tool =
      runfiles != nullptr ? std::string(runfiles) + "/fixpoint/tools/transpile" : "tools/transpile";
  if (argc == 3) {  // OPS ROUNDS
    Run(std::atoi(argv[1]), std::atoi(argv[2]), tool);
    return 0;
  }
  const Result small = Run(10000, 9, tool);
  const Result large = Run(100000, 3, tool);
  std::printf("100,000 ops : 10,000 ops (bound 11)\n");
  std::printf("  index + plan + edits              %8.2f\n", large.rewrite / small.rewrite);
  std::printf("  the tool                          %8.2f\n", large.tool / small.tool);
  return 0;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) { return fixpoint::Main(argc, argv); }
