// A transpile of a program in which everything reads the same: one weight and one activation are
// the inputs of every convolution, each with its gradient op.
//
//   ./bazelw run --config=opt //benchmarks:fan_out_benchmark

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

Program SharedWeight(int convolutions) {
  std::string text = R"(
    var x f32[-1,1,4,4]
    var w f32[2,1,3,3] persistable
  )";
  for (int i = 0; i < convolutions; ++i) {
    absl::StrAppend(&text, "var y", i, " f32[-1,2,2,2]\nvar y", i,
                    "@GRAD f32[-1,2,2,2]\nvar w@GRAD", i, " f32[2,1,3,3]\n");
  }
  for (int i = 0; i < convolutions; ++i) {
    absl::StrAppend(&text, "conv2d(Filter=w, Input=x) -> (Output=y", i, ") {groups=1}\n");
  }
  for (int i = convolutions - 1; i >= 0; --i) {
    absl::StrAppend(&text, "conv2d_grad(Filter=w, Input=x, Output@GRAD=y", i,
                    "@GRAD) -> (Filter@GRAD=w@GRAD", i, ") {groups=1, op_role=1}\n");
  }
  return ParsedProgram(text);
}

void TranspileSharedWeight(benchmark::State& state) {
  const int convolutions = static_cast<int>(state.range(0));
  const Program before = SharedWeight(convolutions);
  for (auto _ : state) {
    state.PauseTiming();
    Program program = before.Clone();
    state.ResumeTiming();
    const auto result = Transpile(&program);
    CHECK(result.ok()) << result.status();
  }
  state.SetComplexityN(convolutions);
}
BENCHMARK(TranspileSharedWeight)
    ->Unit(benchmark::kMillisecond)
    ->RangeMultiplier(2)
    ->Range(256, 4096)
    ->Complexity();

}  // namespace
}  // namespace fixpoint

BENCHMARK_MAIN();
