// The diff of programs of 1,000 to 100,000 ops, which must stay near linear:
//
//   ./bazelw run --config=opt //benchmarks:program_diff_benchmark

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/op_mix.h"
#include "proto/diff/program_diff.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"

namespace fixpoint {
namespace {

Program Indexed(ProgramDesc desc) {
  auto program = Program::Create(std::move(desc));
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Program OriginalProgram(int ops) { return Indexed(RepeatOpMix(OpMixSeed(), ops)); }

// With an op more in front of every tenth, which reads what that one inserts.
Program RewrittenProgram(int ops) {
  Program program = OriginalProgram(ops);
  Rewriter rewriter(&program, "benchmark");
  int count = 0;
  for (const Op& op : program.block(0).ops()) {
    if (op.inserted() || op.inputs().empty() || ++count % 10 != 0) continue;
    const Argument& input = *op.inputs()[0];
    const std::string result = rewriter.FreshName(absl::StrCat(input.name(), ".rounded"));
    OpDesc round;
    round.set_type("round");
    OpDesc::Var& x = *round.add_inputs();
    x.set_parameter("X");
    x.add_arguments(std::string(input.name()));
    OpDesc::Var& out = *round.add_outputs();
    out.set_parameter("Out");
    out.add_arguments(result);
    rewriter.InsertBefore(op, std::move(round));
    rewriter.SetArgument(input, result);
  }
  return program;
}

// As many ops, none of which is of the other's types.
Program UnrelatedProgram(int ops) {
  ProgramDesc desc = RepeatOpMix(OpMixSeed(), ops);
  for (OpDesc& op : *desc.mutable_blocks(0)->mutable_ops()) op.set_type("other_" + op.type());
  return Indexed(std::move(desc));
}

void Measure(benchmark::State& state, const Program& a, const Program& b,
             const DiffOptions& options) {
  size_t differences = 0;
  for (auto _ : state) differences = DiffPrograms(a, b, options).differences.size();
  state.counters["differences"] = static_cast<double>(differences);
}

DiffOptions IgnoreNames() {
  DiffOptions options;
  options.ignore_temporary_names = true;
  return options;
}

void Equal(benchmark::State& state) {
  const int ops = static_cast<int>(state.range(0));
  Measure(state, OriginalProgram(ops), OriginalProgram(ops), {});
}

void Rewritten(benchmark::State& state) {
  const int ops = static_cast<int>(state.range(0));
  Measure(state, OriginalProgram(ops), RewrittenProgram(ops), {});
}

void RewrittenIgnoringNames(benchmark::State& state) {
  const int ops = static_cast<int>(state.range(0));
  Measure(state, OriginalProgram(ops), RewrittenProgram(ops), IgnoreNames());
}

void Unrelated(benchmark::State& state) {
  const int ops = static_cast<int>(state.range(0));
  Measure(state, OriginalProgram(ops), UnrelatedProgram(ops), IgnoreNames());
}

BENCHMARK(Equal)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);
BENCHMARK(Rewritten)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);
BENCHMARK(RewrittenIgnoringNames)
    ->RangeMultiplier(10)
    ->Range(1000, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(Unrelated)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fixpoint

BENCHMARK_MAIN();
