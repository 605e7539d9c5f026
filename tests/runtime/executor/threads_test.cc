// The same number of threads gives the same bits, whatever the process did before: a kernel shares
// its work out when it is planned.

#include "runtime/kernels/threads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

constexpr char kStep[] = R"(program version=2006002
  block 0 {
    conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
    relu(X=y) -> (Out=z)
    relu_grad(Out=z, Out@GRAD=z) -> (X@GRAD=dy)
    conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1]}
    mul(X=m, Y=n) -> (Out=p)
    mul_grad(X=m, Y=n, Out@GRAD=p) -> (X@GRAD=dm, Y@GRAD=dn)
  })";

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return tensor;
}

// Gradients of a new executor in a process whose threads were `before`.
std::vector<Tensor> Gradients(int threads, int before) {
  const Program program = ParsedProgram(kStep);
  Scope scope;
  scope.Set("x", Drawn({8, 32, 16, 16}, 1));
  scope.Set("w", Drawn({32, 32, 3, 3}, 2));
  scope.Set("m", Drawn({64, 500}, 3));
  scope.Set("n", Drawn({500, 300}, 4));
  kernels::UseThreads(before);
  ExecutorOptions options;
  options.threads = threads;
  const auto executor = Executor::Create(program, &scope, options);
  EXPECT_TRUE(executor.ok()) << executor.status();
  auto run = (*executor)->Run({}, {"dx", "dw", "dm", "dn"}, 0);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, OfOneNumberGiveTheSameGradients) {
  const std::vector<Tensor> first = Gradients(GetParam(), /*before=*/2);
  for (const int before : {1, 2, 3, 4}) {
    const std::vector<Tensor> again = Gradients(GetParam(), before);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(again[i].bytes(), first[i].bytes()) << i << " after " << before;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, Threads, testing::Values(1, 2, 3));

}  // namespace
}  // namespace fixpoint::executor
