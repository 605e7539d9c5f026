// What 50 patterns, one of which matches once, cost on a program of 10,000 ops, and of 100,000,
// beside protobuf's parse of it:
//
//   ./bazelw run --config=opt //benchmarks:pattern_benchmark
//
// Milliseconds of processor time, medians of the rounds. The patterns take at most twice the parse,
// whose time is linear, for both; that holds here if the program ends with 0.

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/op_mix.h"
#include "proto/program/program.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/pattern_rewriter.h"

namespace fixpoint {
namespace {

constexpr int kPatterns = 50;
constexpr int kRounds = 9;

double ProcessorMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename Run>
double Measure(Run run) {
  const double start = ProcessorMilliseconds();
  run();
  return ProcessorMilliseconds() - start;
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The first pattern matches once. The others end in the most frequent ops of networks of
// convolutions: all but the last find ops, and fail at the attribute of the first one.
std::vector<Pattern> MakePatterns() {
  std::string text =
      "pattern once \"The op that RewritableMix has once.\"\nbefore:\n  sin(X=x) -> (Out=y)\n"
      "after:\n  cos(X=x) -> (Out=y)\n";
  for (int i = 0; i + 2 < kPatterns; ++i) {
    absl::StrAppend(&text, "pattern p", i, " \"A convolution, its bias and a relu.\"\n",
                    "before:\n  conv2d(Input=x, Filter=w) -> (Output=c) {strides=[", i + 7,
                    ", 1]}\n",
                    "  elementwise_add(X=c, Y=b) -> (Out=s) {axis=1}\n  relu(X=s) -> (Out=y)\n",
                    "after:\n  conv2d(Input=x, Filter=w) -> (Output=c2)\n",
                    "  elementwise_add(X=c2, Y=b) -> (Out=y) {axis=1}\n");
  }
  absl::StrAppend(&text, "pattern last \"A relu is a clip.\"\nbefore:\n",
                  "  pool2d(X=x) -> (Out=t)\n  relu(X=t) -> (Out=y)\n",
                  "after:\n  relu(X=x) -> (Out=t2)\n  pool2d(X=t2) -> (Out=y)\n");
  absl::StatusOr<std::vector<Pattern>> patterns = ParsePatterns(text, "patterns");
  CHECK(patterns.ok()) << patterns.status();
  return *std::move(patterns);
}

ProgramDesc RewritableMix(int ops) {
  ProgramDesc mix = RepeatOpMix(OpMixSeed(), ops);
  auto& ops_of_mix = *mix.mutable_blocks(0)->mutable_ops();
  const auto relu = std::find_if(ops_of_mix.begin(), ops_of_mix.end(),
                                 [](const OpDesc& op) { return op.type() == "relu"; });
  CHECK(relu != ops_of_mix.end());
  relu->set_type("sin");
  relu->clear_attrs();
  return mix;
}

struct Times {
  double parse = 0;
  double patterns = 0;
};

Times TimesOf(int ops, const std::vector<const Pattern*>& patterns) {
  const std::string bytes = RewritableMix(ops).SerializeAsString();
  std::vector<double> parse;
  std::vector<double> rewrite;
  for (int round = 0; round < kRounds; ++round) {
    ProgramDesc desc;
    parse.push_back(Measure([&] { CHECK(desc.ParseFromString(bytes)); }));
    absl::StatusOr<Program> program = Program::Create(std::move(desc));
    CHECK(program.ok()) << program.status();
    rewrite.push_back(Measure([&] {
      const absl::StatusOr<RewriteReport> report = ApplyPatterns(patterns, {}, &*program);
      CHECK(report.ok()) << report.status();
      CHECK_EQ(report->replaced.size(), 1);
    }));
  }
  return {Median(parse), Median(rewrite)};
}

int Run() {
  const std::vector<Pattern> patterns = MakePatterns();
  std::vector<const Pattern*> pointers;
  for (const Pattern& pattern : patterns) pointers.push_back(&pattern);
  const Times small = TimesOf(10000, pointers);
  const Times large = TimesOf(100000, pointers);
  std::printf("ops      parse  patterns  ratio\n");
  std::printf("10,000   %5.1f  %8.1f  %5.2f\n", small.parse, small.patterns,
              small.patterns / small.parse);
  std::printf("100,000  %5.1f  %8.1f  %5.2f\n", large.parse, large.patterns,
              large.patterns / large.parse);
  const bool holds = small.patterns <= 2 * small.parse && large.patterns <= 2 * large.parse;
  std::printf("bounds %s\n", holds ? "hold" : "do not hold");
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace fixpoint

int main() { return fixpoint::Run(); }
