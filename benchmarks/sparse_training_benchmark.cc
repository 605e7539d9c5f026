// A step of training a sparse embedding: 256 ids of a table of 16 columns, by the rows of the
// table. Optimizers that touch nothing but the rows that were looked up take as long for every
// table; adam without lazy_mode updates all of it, as a dense gradient does.
//
//   ./bazelw run --config=opt //benchmarks:sparse_training_benchmark

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kIds = 256;

Tensor OfType(VarType::Type dtype, std::vector<int64_t> dims) {
  auto tensor = Tensor::Allocate(dtype, std::move(dims));
  CHECK(tensor.ok()) << tensor.status();
  return *std::move(tensor);
}

Tensor Numbers(std::vector<int64_t> dims, float number) {
  Tensor tensor = OfType(VarType::FP32, std::move(dims));
  for (float& element : tensor.mutable_data<float>()) element = number;
  return tensor;
}

Program StepOf(int64_t rows, bool is_sparse, absl::string_view update) {
  std::string text =
      "program version=2006002\nblock 0 {\nvar ids i64[256] need_check_feed\n"
      "var d f32[256,16] need_check_feed\nvar lr f32[1] persistable\n"
      "var b1 f32[1] persistable\nvar b2 f32[1] persistable\n";
  for (const char* name : {"w", "m1", "m2"}) {
    absl::StrAppend(&text, "var ", name, " f32[", rows, ",16] persistable\n");
  }
  absl::StrAppend(&text,
                  "lookup_table_v2(W=w, Ids=ids) -> (Out=out)\n"
                  "lookup_table_v2_grad(W=w, Ids=ids, Out@GRAD=d) -> (W@GRAD=g) {is_sparse=",
                  is_sparse ? "true" : "false", "}\n", update, "\n}");
  return ParsedProgram(text);
}

constexpr char kSgd[] = "sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w)";
constexpr char kAdagrad[] =
    "adagrad(Param=w, Grad=g, LearningRate=lr, Moment=m1) -> (ParamOut=w, MomentOut=m1)";
constexpr char kAdam[] =
    "adam(Param=w, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2, Beta1Pow=b1, Beta2Pow=b2) -> "
    "(ParamOut=w, Moment1Out=m1, Moment2Out=m2, Beta1PowOut=b1, Beta2PowOut=b2)";

void TrainTable(benchmark::State& state, bool is_sparse, const std::string& update) {
  const int64_t rows = state.range(0);
  const Program program = StepOf(rows, is_sparse, update);
  Scope scope;
  for (const char* name : {"w", "m1", "m2"}) scope.Set(name, Numbers({rows, kWidth}, 0.5f));
  for (const char* name : {"lr", "b1", "b2"}) scope.Set(name, Numbers({1}, 0.5f));
  auto executor = executor::Executor::Create(program, &scope);
  CHECK(executor.ok()) << executor.status();
  const Tensor gradient = Numbers({kIds, kWidth}, 0.25f);
  Tensor ids = OfType(VarType::INT64, {kIds});
  uint32_t step = 0;
  for (auto _ : state) {
    uint64_t place = step;
    for (int64_t& id : ids.mutable_data<int64_t>()) {
      place = place * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int64_t>((place >> 33) % static_cast<uint64_t>(rows));
    }
    const auto run = (*executor)->Run({{"ids", &ids}, {"d", &gradient}}, {"out"}, step++);
    CHECK(run.ok()) << run.status();
  }
}

void Rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMicrosecond)->RangeMultiplier(10)->Range(10000, 1000000);
}

BENCHMARK_CAPTURE(TrainTable, sgd, true, kSgd)->Apply(Rows);
BENCHMARK_CAPTURE(TrainTable, adagrad, true, kAdagrad)->Apply(Rows);
BENCHMARK_CAPTURE(TrainTable, lazy_adam, true, absl::StrCat(kAdam, " {lazy_mode=true}"))
    ->Apply(Rows);
BENCHMARK_CAPTURE(TrainTable, adam, true, kAdam)->Apply(Rows);
BENCHMARK_CAPTURE(TrainTable, dense_sgd, false, kSgd)->Apply(Rows);

}  // namespace
}  // namespace fixpoint

BENCHMARK_MAIN();
