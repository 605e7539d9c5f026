// The verifier on a program of 10,000 ops, and the making of all op schemas:
//
//   ./bazelw run --config=opt //benchmarks:verifier_benchmark

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <utility>
#include <vector>

#include "benchmarks/op_mix.h"
#include "ops/families.h"
#include "ops/op_schema.h"
#include "ops/verifier.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr int kOps = 10000;

Program MakeProgram() {
  absl::StatusOr<Program> program = Program::Create(RepeatOpMix(OpMixSeed(), kOps));
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

// Verifies a program that was just loaded, whose values are not known yet.
void VerifyFresh(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    const Program program = MakeProgram();
    state.ResumeTiming();
    benchmark::DoNotOptimize(Verify(program));
  }
}
BENCHMARK(VerifyFresh)->Unit(benchmark::kMillisecond);

void VerifyAgain(benchmark::State& state) {
  const Program program = MakeProgram();
  benchmark::DoNotOptimize(Verify(program));
  for (auto _ : state) benchmark::DoNotOptimize(Verify(program));
}
BENCHMARK(VerifyAgain)->Unit(benchmark::kMillisecond);

void DefineAllOps(benchmark::State& state) {
  for (auto _ : state) {
    ForEachFamily([](std::vector<OpSchema> family) { benchmark::DoNotOptimize(family); });
  }
}
BENCHMARK(DefineAllOps)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fixpoint

BENCHMARK_MAIN();
