// What a quantizer that is written as ops costs beside the op that computes the same: LSQ, forward
// and its gradient, in one run and on one thread. The executor fuses the ops of the formula
// (runtime/executor/fusion.h):
//
//   ./bazelw run --config=opt //benchmarks:fused_elementwise_benchmark
//
// Milliseconds, beside a copy of the values.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "benchmarks/memory_speed.h"
#include "ops/formula_gradient.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

using Dims = std::vector<int64_t>;

// 8 bits. What is a constant for the gradient is listed in TheFormula.
constexpr char kFormula[] = R"(
  assign(X=range) -> (Out=known_range)
  elementwise_sub(X=range, Y=known_range) -> (Out=zero)
  scale(X=zero) -> (Out=scaled) {scale=0.01}
  elementwise_add(X=known_range, Y=scaled) -> (Out=scaled_range)
  scale(X=scaled_range) -> (Out=step) {scale=0.007874016}
  elementwise_div(X=x, Y=step) -> (Out=u)
  clip(X=u) -> (Out=clipped) {min=-127.0, max=127.0}
  round(X=clipped) -> (Out=rounded)
  elementwise_sub(X=rounded, Y=clipped) -> (Out=rounding)
  elementwise_add(X=clipped, Y=rounding) -> (Out=code)
  elementwise_mul(X=code, Y=step) -> (Out=out)
)";
constexpr char kOp[] =
    "fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out) {bit_length=8}\n";
constexpr char kOpGradient[] =
    "fake_quantize_dequantize_at_range_grad(X=x, InScale=range, Out@GRAD=out@GRAD) -> "
    "(X@GRAD=x@GRAD, InScale@GRAD=range@GRAD) {bit_length=8}\n";

ProgramDesc Parsed(absl::string_view text) {
  auto desc = ParseProgramText(text, "benchmark");
  CHECK(desc.ok()) << desc.status();
  return *std::move(desc);
}

std::vector<OpDesc> Ops(absl::string_view text) {
  const ProgramDesc desc = Parsed(text);
  return {desc.blocks(0).ops().begin(), desc.blocks(0).ops().end()};
}

Formula TheFormula() {
  Formula formula;
  formula.ops = Ops(kFormula);
  formula.result = "out";
  formula.inputs = {"x", "range"};
  formula.constants = {"known_range", "rounding"};
  return formula;
}

// A program of those ops, over tensors of those dimensions, that keeps `result`, which is as large.
Program ProgramOf(const std::vector<OpDesc>& ops, const std::string& result, const Dims& dims) {
  const std::string of_x = absl::StrCat("f32[", absl::StrJoin(dims, ","), "] persistable\n");
  std::string variables;
  for (const std::string& name : {std::string("x"), std::string("out@GRAD"), result}) {
    absl::StrAppend(&variables, "var ", name, " ", of_x);
  }
  for (const char* name : {"range", "known", "range@GRAD"}) {
    absl::StrAppend(&variables, "var ", name, " f32[1] persistable\n");
  }
  ProgramDesc desc = Parsed(absl::StrCat("program version=2006002\nblock 0 {\n", variables, "}\n"));
  for (const OpDesc& op : ops) *desc.mutable_blocks(0)->add_ops() = op;
  auto program = Program::Create(desc, "benchmark");
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

class Runs {
 public:
  explicit Runs(Dims dims) : dims_(std::move(dims)) {
    for (const char* name : {"x", "out", "out@GRAD", "x@GRAD"}) Fill(name, dims_);
    for (const char* name : {"range", "known", "range@GRAD"}) Fill(name, {1});
  }

  // Seconds of a run of those ops.
  double SecondsOf(const std::vector<OpDesc>& ops, const std::string& result) {
    const Program program = ProgramOf(ops, result, dims_);
    const auto executor = Executor::Create(program, &scope_);
    CHECK(executor.ok()) << executor.status();
    return SecondsOf([&] {
      const auto run = (*executor)->Run({}, {}, 0);
      CHECK(run.ok()) << run.status();
    });
  }

  double SecondsOfCopy() {
    const absl::Span<const float> from = std::get<Tensor>(*scope_.FindOrNull("x")).data<float>();
    std::vector<float> to(from.size());
    return SecondsOf([&] { std::memcpy(to.data(), from.data(), bytes_); });
  }

 private:
  template <typename Run>
  double SecondsOf(Run run) {
    return static_cast<double>(bytes_) / (1e9 * MemorySpeed(bytes_, run));
  }

  void Fill(const char* name, const Dims& dims) {
    Tensor tensor = *Tensor::Allocate(VarType::FP32, dims);
    const RandomStream random(1, *name, 0);
    uint64_t i = 0;
    for (float& value : tensor.mutable_data<float>()) {
      value = static_cast<float>(dims.size() == 1 ? 2.5 : random.Normal(i++));
    }
    if (dims == dims_) bytes_ = tensor.bytes().size();
    scope_.Set(name, std::move(tensor));
  }

  const Dims dims_;
  Scope scope_;
  size_t bytes_ = 0;
};

void Measure(const Dims& dims) {
  Runs runs(dims);
  const Formula formula = TheFormula();
  const double copy = runs.SecondsOfCopy();
  const auto show = [&](const char* what, const std::string& result, const std::vector<OpDesc>& op,
                        const std::vector<OpDesc>& ops) {
    const double of_op = runs.SecondsOf(op, result);
    const double of_formula = runs.SecondsOf(ops, result);
    std::printf("%-18s %-9s %8.3f %8.3f %8.3f %12.2f\n", absl::StrJoin(dims, "x").c_str(), what,
                1e3 * copy, 1e3 * of_op, 1e3 * of_formula, of_formula / of_op);
  };
  show("forward", "out", Ops(kOp), Ops(kFormula));
  show("gradient", "x@GRAD", Ops(kOpGradient), *GradientOpsOf(formula, Era::kPaddle2));
}

void MeasureAll() {
  std::printf("%-18s %-9s %8s %8s %8s %12s\n", "x", "", "copy", "op", "formula", "formula / op");
  for (const Dims& dims :
       std::vector<Dims>{{32, 64, 32, 32}, {32, 16, 32, 32}, {256, 1000}, {64, 64, 3, 3}}) {
    Measure(dims);
  }
}

}  // namespace
}  // namespace fixpoint::executor

int main() { fixpoint::executor::MeasureAll(); }
